// Package bridged makes a Pulumi plugin of a Terraform provider: names of theirs to names of ours, no more.
package bridged

import (
	"encoding/json"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

// Names maps a Terraform name to module and type, as in "compute/Instance"; for data sources, to module and function.
type Names map[string]string

// Fields maps the name of a resource to names of its properties that no rule gives.
type Fields map[string]map[string]string

// Longest name that a resource gets if the program gives it none; ours always does.
const longestName = 255

// Main serves the provider under the name and the version that its Python SDK asks for.
func Main(name, version string, provider *schema.Provider, resources, functions Names, fields Fields) {
	info := tfbridge.ProviderInfo{
		P:           shimv2.NewProvider(provider),
		Name:        name,
		Version:     version,
		Resources:   map[string]*tfbridge.ResourceInfo{},
		DataSources: map[string]*tfbridge.DataSourceInfo{},
	}
	for theirs, ours := range resources {
		resource := &tfbridge.ResourceInfo{Tok: tokens.Type(token(name, ours))}
		for field, called := range fields[theirs] {
			if resource.Fields == nil {
				resource.Fields = map[string]*tfbridge.SchemaInfo{}
			}
			resource.Fields[field] = &tfbridge.SchemaInfo{Name: called}
		}
		info.Resources[theirs] = resource
	}
	for theirs, ours := range functions {
		info.DataSources[theirs] = &tfbridge.DataSourceInfo{Tok: tokens.ModuleMember(token(name, ours))}
	}
	info.IgnoreMappings = unmapped(provider, info)
	info.SetAutonaming(longestName, "-")
	stub, err := json.Marshal(map[string]string{"name": name, "version": version})
	if err != nil {
		panic(err)
	}
	tfbridge.Main(name, version, info, stub)
}

// token spells "compute/Instance" as Pulumi does: openstack:compute/instance:Instance.
func token(name, ours string) string {
	module, member, _ := strings.Cut(ours, "/")
	return name + ":" + module + "/" + strings.ToLower(member[:1]) + member[1:] + ":" + member
}

func unmapped(provider *schema.Provider, info tfbridge.ProviderInfo) []string {
	var names []string
	for theirs := range provider.ResourcesMap {
		if info.Resources[theirs] == nil {
			names = append(names, theirs)
		}
	}
	for theirs := range provider.DataSourcesMap {
		if info.DataSources[theirs] == nil {
			names = append(names, theirs)
		}
	}
	return names
}
