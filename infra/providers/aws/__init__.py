"""Machines of Amazon's cloud: EC2, EBS and VPC, through Pulumi's own provider."""
