// Command openstack is the Pulumi plugin that infra/providers/openstack needs: what is declared and looked up there.
package main

import (
	"kastellan/tools/pulumi-plugins/bridged"

	"github.com/terraform-provider-openstack/terraform-provider-openstack/v3/openstack"
)

// Of pulumi_openstack in requirements-clouds.in.
const version = "5.5.3"

func main() {
	resources := bridged.Names{
		"openstack_blockstorage_volume_v3":         "blockstorage/Volume",
		"openstack_compute_instance_v2":            "compute/Instance",
		"openstack_compute_servergroup_v2":         "compute/ServerGroup",
		"openstack_networking_network_v2":          "networking/Network",
		"openstack_networking_port_v2":             "networking/Port",
		"openstack_networking_router_interface_v2": "networking/RouterInterface",
		"openstack_networking_router_v2":           "networking/Router",
		"openstack_networking_secgroup_rule_v2":    "networking/SecGroupRule",
		"openstack_networking_secgroup_v2":         "networking/SecGroup",
		"openstack_networking_subnet_v2":           "networking/Subnet",
	}
	functions := bridged.Names{
		"openstack_blockstorage_volume_v3":        "blockstorage/getVolumeV3",
		"openstack_compute_availability_zones_v2": "compute/getAvailabilityZones",
		"openstack_compute_flavor_v2":             "compute/getFlavor",
		"openstack_compute_instance_v2":           "compute/getInstanceV2",
		"openstack_compute_limits_v2":             "compute/getLimitsV2",
		"openstack_identity_auth_scope_v3":        "identity/getAuthScope",
		"openstack_images_image_v2":               "images/getImage",
		"openstack_networking_network_v2":         "networking/getNetwork",
		"openstack_networking_port_ids_v2":        "networking/getPortIds",
		"openstack_networking_port_v2":            "networking/getPort",
		"openstack_networking_subnet_v2":          "networking/getSubnet",
	}
	fields := bridged.Fields{"openstack_networking_subnet_v2": {"allocation_pool": "allocationPools"}}
	bridged.Main("openstack", version, openstack.Provider(), resources, functions, fields)
}
