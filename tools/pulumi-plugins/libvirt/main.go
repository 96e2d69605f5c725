// The program pulumi-resource-libvirt.
package main

import (
	_ "embed"

	"github.com/dmacvicar/terraform-provider-libvirt/libvirt"

	"kastellan.invalid/pulumi-plugins/bridged"
)

//go:embed table.json
var table []byte

func main() {
	bridged.Main(table, libvirt.Provider())
}
