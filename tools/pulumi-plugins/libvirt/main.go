// Command libvirt is the Pulumi plugin that infra/providers/libvirt needs: what is declared and looked up there.
package main

import (
	"kastellan/tools/pulumi-plugins/bridged"

	"github.com/dmacvicar/terraform-provider-libvirt/libvirt"
)

// Of pulumi_libvirt in requirements-clouds.in.
const version = "0.5.4"

func main() {
	resources := bridged.Names{
		"libvirt_cloudinit_disk": "index/CloudInitDisk",
		"libvirt_domain":         "index/Domain",
		"libvirt_network":        "index/Network",
		"libvirt_pool":           "index/Pool",
		"libvirt_volume":         "index/Volume",
	}
	functions := bridged.Names{"libvirt_node_info": "index/getNodeInfo"}
	bridged.Main("libvirt", version, libvirt.Provider(), resources, functions, nil)
}
