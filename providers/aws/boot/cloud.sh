# shellcheck shell=bash
# What start-ray and watch-ray must know about EC2. Sourced by start-ray.
# shellcheck disable=SC2034,SC2154 # set for them, or by them
image_hint=", as AWS's deep learning base images do"

# The instance metadata service, version 2.
imds=http://169.254.169.254/latest
session=

open_session() {
	session=$(metadata --request PUT --header 'X-aws-ec2-metadata-token-ttl-seconds: 21600' "$imds/api/token") &&
		session="X-aws-ec2-metadata-token: $session"
}

read_identity() {
	command -v curl >/dev/null || give_up "no curl on this image"
	open_session || try_again "the metadata service does not answer"
	instance_id=$(metadata --header "$session" "$imds/meta-data/instance-id") ||
		try_again "the metadata service does not report an instance id"
	node_ip=$(metadata --header "$session" "$imds/meta-data/local-ipv4") ||
		try_again "the metadata service does not report an address"
}

# 404 unless EC2 has a notice (EC2 user guide, "Spot Instance interruption notices", "EC2 instance rebalance
# recommendations"); read every 5 seconds, as that guide recommends.
ask_for_notice() {
	local answer form='"(time|noticeTime)" *: *"([^"]+)"'
	found=
	answer=$(curl --silent --noproxy '*' --max-time 2 --header "$session" --write-out ' %{http_code}' "$imds/meta-data/$1") ||
		return 0
	case $answer in
	*' 401') open_session || true ;;
	*' 200') [[ ! $answer =~ $form ]] || found=${BASH_REMATCH[2]} ;;
	esac
}

read_notice() {
	ask_for_notice spot/instance-action
	notice=$found
	[ -z "$risk" ] || return 0
	ask_for_notice events/recommendations/rebalance
	risk=$found
}

# The instance's tag, which the metadata service shows if the instance's metadata options say so.
find_lease() {
	open_session && lease_request=(--header "$session" "$imds/meta-data/tags/instance/raygpu:expires")
}

# Disks that EC2 calls instance storage, never EBS.
list_local_disks() {
	lsblk --nodeps --noheadings --paths --output NAME,MODEL | sed -n 's/ *Amazon EC2 NVMe Instance Storage *$//p'
}

# The deep learning images combine all instance store volumes and mount them there.
find_scratch() {
	scratch=/var/lib/raygpu/ray
	systemctl start dlami-nvme.service >/dev/null 2>&1 || true
	if mountpoint --quiet /opt/dlami/nvme; then
		scratch=/opt/dlami/nvme/raygpu
	elif mountpoint --quiet "$store" || mount_store; then
		scratch=$store/ray
	fi
}

# Both by the role of the instance profile, which the plan requires for them.
registry_login() {
	local form='^[0-9]{12}\.dkr[.-]ecr(-fips)?\.([a-z0-9-]+)\.'
	[[ $1 =~ $form ]] || return 0
	command -v aws >/dev/null || give_up "no aws command on this image: it is needed to log in to $1"
	registry_user=AWS
	registry_password=$(aws ecr get-login-password --region "${BASH_REMATCH[2]}") ||
		try_again "can't get a password of $1: does the role of the instance profile allow ecr:GetAuthorizationToken?"
}

read_secret() {
	local region form='^arn:[^:]+:secretsmanager:([^:]+):'
	command -v aws >/dev/null || give_up "no aws command on this image: it is needed to read the secret $1"
	if [[ $1 =~ $form ]]; then
		region=${BASH_REMATCH[1]}
	else
		region=$(metadata --header "$session" "$imds/meta-data/placement/region") ||
			try_again "the metadata service does not report the region"
	fi
	registry_password=$(aws secretsmanager get-secret-value --region "$region" --secret-id "$1" \
		--query SecretString --output text) ||
		try_again "can't read the secret $1: does the role of the instance profile allow secretsmanager:GetSecretValue?"
}
