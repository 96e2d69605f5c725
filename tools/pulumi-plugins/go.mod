module kastellan/tools/pulumi-plugins

go 1.26

require (
	github.com/dmacvicar/terraform-provider-libvirt v0.8.3
	github.com/hashicorp/terraform-plugin-sdk/v2 v2.38.1
	github.com/pulumi/pulumi-terraform-bridge/v3 v3.137.0
	github.com/terraform-provider-openstack/terraform-provider-openstack/v3 v3.4.0
)

replace github.com/hashicorp/terraform-plugin-sdk/v2 => github.com/pulumi/terraform-plugin-sdk/v2 v2.0.0-20260318212141-5525259d096b
