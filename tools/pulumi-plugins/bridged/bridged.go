// Package bridged turns a Terraform provider into a Pulumi plugin that knows what a table names, and nothing else.
package bridged

import (
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/contract"
)

// longestName is what the SDK's documentation promises for names that Pulumi makes up; ours are all given.
const longestName = 255

// table is a plugin's table.json: Terraform's word for a thing, and Pulumi's.
type table struct {
	Name      string            `json:"name"`
	Version   string            `json:"version"`
	Resources map[string]string `json:"resources"`
	Functions map[string]string `json:"functions"`
	// Renamed are fields whose name the SDK does not derive from Terraform's: resource, field, Pulumi's name.
	Renamed map[string]map[string]string `json:"renamed"`
}

// Main serves the provider to Pulumi's engine and does not return.
func Main(source []byte, upstream *schema.Provider) {
	var told table
	contract.AssertNoErrorf(json.Unmarshal(source, &told), "table.json")
	provider := tfbridge.ProviderInfo{
		P:              shimv2.NewProvider(upstream),
		Name:           told.Name,
		Version:        told.Version,
		Resources:      map[string]*tfbridge.ResourceInfo{},
		DataSources:    map[string]*tfbridge.DataSourceInfo{},
		IgnoreMappings: unnamed(upstream, told),
	}
	for word, token := range told.Resources {
		provider.Resources[word] = &tfbridge.ResourceInfo{Tok: tokens.Type(token), Fields: renamed(told.Renamed[word])}
	}
	for word, token := range told.Functions {
		provider.DataSources[word] = &tfbridge.DataSourceInfo{Tok: tokens.ModuleMember(token)}
	}
	provider.SetAutonaming(longestName, "-")
	stub, err := json.Marshal(map[string]string{"name": told.Name, "version": told.Version})
	contract.AssertNoErrorf(err, "the schema's stub")
	tfbridge.Main(told.Name, told.Version, provider, stub)
}

// unnamed is all that the provider has and the table does not name.
func unnamed(upstream *schema.Provider, told table) []string {
	var words []string
	for word := range upstream.ResourcesMap {
		if _, is := told.Resources[word]; !is {
			words = append(words, word)
		}
	}
	for word := range upstream.DataSourcesMap {
		if _, is := told.Functions[word]; !is {
			words = append(words, word)
		}
	}
	return words
}

func renamed(fields map[string]string) map[string]*tfbridge.SchemaInfo {
	infos := map[string]*tfbridge.SchemaInfo{}
	for field, name := range fields {
		infos[field] = &tfbridge.SchemaInfo{Name: name}
	}
	return infos
}
