// The program pulumi-resource-openstack.
package main

import (
	_ "embed"

	"github.com/terraform-provider-openstack/terraform-provider-openstack/v3/openstack"

	"kastellan.invalid/pulumi-plugins/bridged"
)

//go:embed table.json
var table []byte

func main() {
	bridged.Main(table, openstack.Provider())
}
