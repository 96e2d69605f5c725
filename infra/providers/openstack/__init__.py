"""Machines of an OpenStack cloud: Nova, Neutron, Cinder and Glance, through Pulumi's own provider."""
