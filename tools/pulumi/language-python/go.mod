module kastellan.invalid/tools/pulumi/language-python

go 1.25.0

tool github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python

require github.com/pulumi/pulumi/sdk/v3 v3.79.0
