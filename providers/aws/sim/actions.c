#include "aws/sim/actions.h"
#include "aws/sim/groups.h"
#include "aws/sim/images.h"
#include "aws/sim/instances.h"
#include "aws/sim/interfaces.h"
#include "aws/sim/launch.h"
#include "aws/sim/network.h"
#include "aws/sim/placement_group.h"
#include "aws/sim/power.h"
#include "aws/sim/rules.h"
#include "aws/sim/spot.h"
#include "aws/sim/ssm.h"
#include "aws/sim/sts.h"
#include "aws/sim/tags.h"
#include "aws/sim/types.h"
#include "aws/sim/volumes.h"

#define EC2_VERSION "2016-11-15"
#define STS_VERSION "2011-06-15"

#define PAGED " DryRun Filter MaxResults NextToken"
#define PERMISSIONS "DryRun GroupId GroupName IpPermissions CidrIp IpProtocol FromPort ToPort"

static const RgSimAction actions[] = {
	{"AssumeRole", rg_sim_assume_role, false,
		"DurationSeconds ExternalId RoleArn RoleSessionName", RG_SIM_STS},
	{"AssumeRoleWithWebIdentity", rg_sim_assume_role_web, false,
		"DurationSeconds RoleArn RoleSessionName WebIdentityToken", RG_SIM_STS, true},
	{"AuthorizeSecurityGroupEgress", rg_sim_authorize_egress, true,
		PERMISSIONS " TagSpecification"},
	{"AuthorizeSecurityGroupIngress", rg_sim_authorize_ingress, true,
		PERMISSIONS " TagSpecification"},
	{"CancelSpotInstanceRequests", rg_sim_cancel_spot, true, "DryRun SpotInstanceRequestId"},
	{"CreateNetworkInterface", rg_sim_create_interface, true,
		"DryRun ClientToken Description InterfaceType PrivateIpAddress SecurityGroupId "
		"SubnetId "
		"TagSpecification"},
	{"CreatePlacementGroup", rg_sim_create_placement_group, true,
		"DryRun GroupName PartitionCount Strategy TagSpecification"},
	{"CreateSecurityGroup", rg_sim_create_group, true,
		"DryRun GroupDescription GroupName TagSpecification VpcId"},
	{"CreateTags", rg_sim_create_tags, true, "DryRun ResourceId Tag"},
	{"DeleteNetworkInterface", rg_sim_delete_interface, true, "DryRun NetworkInterfaceId"},
	{"DeletePlacementGroup", rg_sim_delete_placement_group, true, "DryRun GroupName"},
	{"DeleteSecurityGroup", rg_sim_delete_group, true, "DryRun GroupId GroupName"},
	{"DeleteTags", rg_sim_delete_tags, true, "DryRun ResourceId Tag"},
	{"DescribeAvailabilityZones", rg_sim_describe_zones, false,
		"AllAvailabilityZones DryRun Filter ZoneId ZoneName"},
	{"DescribeImages", rg_sim_describe_images, false,
		"ImageId IncludeDeprecated IncludeDisabled Owner" PAGED},
	{"DescribeInstanceAttribute", rg_sim_describe_instance_attribute, false,
		"Attribute DryRun InstanceId"},
	{"DescribeInstanceStatus", rg_sim_describe_instance_status, false,
		"IncludeAllInstances InstanceId" PAGED},
	{"DescribeInstanceTypeOfferings", rg_sim_describe_offerings, false, "LocationType" PAGED},
	{"DescribeInstanceTypes", rg_sim_describe_types, false, "InstanceType" PAGED},
	{"DescribeInstances", rg_sim_describe_instances, false, "InstanceId" PAGED},
	{"DescribeNetworkInterfaces", rg_sim_describe_interfaces, false,
		"NetworkInterfaceId" PAGED},
	{"DescribePlacementGroups", rg_sim_describe_placement_groups, false,
		"DryRun Filter GroupId GroupName"},
	{"DescribeRegions", rg_sim_describe_regions, false, "AllRegions DryRun Filter RegionName"},
	{"DescribeSecurityGroupRules", rg_sim_describe_rules, false, "SecurityGroupRuleId" PAGED},
	{"DescribeSecurityGroups", rg_sim_describe_groups, false, "GroupId GroupName" PAGED},
	{"DescribeSpotInstanceRequests", rg_sim_describe_spot, false,
		"SpotInstanceRequestId" PAGED},
	{"DescribeSubnets", rg_sim_describe_subnets, false, "SubnetId" PAGED},
	{"DescribeTags", rg_sim_describe_tags, false, PAGED},
	{"DescribeVolumes", rg_sim_describe_volumes, false, "VolumeId" PAGED},
	{"DescribeVpcs", rg_sim_describe_vpcs, false, "VpcId" PAGED},
	{"GetCallerIdentity", rg_sim_caller_identity, false, "", RG_SIM_STS},
	{"GetParameter", rg_sim_get_parameter, false, "Name WithDecryption", RG_SIM_SSM},
	{"GetParameters", rg_sim_get_parameters, false, "Names WithDecryption", RG_SIM_SSM},
	{"GetSessionToken", rg_sim_session_token, false, "DurationSeconds", RG_SIM_STS},
	{"ModifyInstanceAttribute", rg_sim_modify_instance, true,
		"Attribute DisableApiTermination DryRun GroupId InstanceId "
		"InstanceInitiatedShutdownBehavior InstanceType Value"},
	{"ModifyInstanceMetadataOptions", rg_sim_modify_metadata, true,
		"DryRun HttpEndpoint HttpPutResponseHopLimit HttpTokens InstanceId "
		"InstanceMetadataTags"},
	{"ModifyNetworkInterfaceAttribute", rg_sim_modify_interface, true,
		"AssociatePublicIpAddress Attachment.AttachmentId Attachment.DeleteOnTermination "
		"Description DryRun "
		"NetworkInterfaceId SecurityGroupId SourceDestCheck"},
	{"RebootInstances", rg_sim_reboot_instances, true, "DryRun InstanceId"},
	{"RevokeSecurityGroupEgress", rg_sim_revoke_egress, true,
		PERMISSIONS " SecurityGroupRuleId"},
	{"RevokeSecurityGroupIngress", rg_sim_revoke_ingress, true,
		PERMISSIONS " SecurityGroupRuleId"},
	{"RunInstances", rg_sim_run_instances, true,
		"BlockDeviceMapping.DeviceName BlockDeviceMapping.Ebs.DeleteOnTermination "
		"BlockDeviceMapping.Ebs.Encrypted BlockDeviceMapping.Ebs.VolumeSize "
		"BlockDeviceMapping.Ebs.VolumeType ClientToken DisableApiTermination DryRun "
		"EbsOptimized IamInstanceProfile ImageId InstanceInitiatedShutdownBehavior "
		"InstanceMarketOptions.MarketType InstanceMarketOptions.SpotOptions.MaxPrice "
		"InstanceMarketOptions.SpotOptions.SpotInstanceType "
		"InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior "
		"InstanceType KeyName MaxCount MetadataOptions.HttpEndpoint "
		"MetadataOptions.HttpPutResponseHopLimit MetadataOptions.HttpTokens "
		"MetadataOptions.InstanceMetadataTags MinCount Monitoring "
		"NetworkInterface.AssociatePublicIpAddress NetworkInterface.DeleteOnTermination "
		"NetworkInterface.Description NetworkInterface.DeviceIndex "
		"NetworkInterface.InterfaceType NetworkInterface.NetworkCardIndex "
		"NetworkInterface.NetworkInterfaceId NetworkInterface.PrivateIpAddress "
		"NetworkInterface.SecurityGroupId NetworkInterface.SubnetId "
		"Placement.AvailabilityZone Placement.GroupId Placement.GroupName PrivateIpAddress "
		"SecurityGroup SecurityGroupId "
		"SubnetId "
		"TagSpecification UserData"},
	{"StartInstances", rg_sim_start_instances, true, "DryRun InstanceId"},
	{"StopInstances", rg_sim_stop_instances, true, "DryRun Force InstanceId"},
	{"TerminateInstances", rg_sim_terminate_instances, true, "DryRun Force InstanceId"},
};

const RgSimAction *rg_sim_action_find(const char *name, const char *version, RgSimService service)
{
	static const char *const versions[RG_SIM_SERVICES] = {EC2_VERSION, STS_VERSION, NULL};
	for (size_t i = 0; i < G_N_ELEMENTS(actions); i++) {
		if (g_strcmp0(actions[i].name, name) == 0 && actions[i].service == service &&
			g_strcmp0(versions[service], version) == 0)
			return &actions[i];
	}
	return NULL;
}
