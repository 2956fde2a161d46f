# shellcheck shell=bash
# What start-ray has to know about EC2. Sourced by it.
# shellcheck disable=SC2034 # set for start-ray
image_hint=", as AWS's deep learning base images do"

# The instance metadata service, version 2.
read_identity() {
	command -v curl >/dev/null || give_up "no curl on this image"
	local imds=http://169.254.169.254/latest session
	session=$(metadata --request PUT --header 'X-aws-ec2-metadata-token-ttl-seconds: 300' \
		"$imds/api/token") || try_again "the metadata service does not answer"
	session="X-aws-ec2-metadata-token: $session"
	instance_id=$(metadata --header "$session" "$imds/meta-data/instance-id") ||
		try_again "the metadata service tells no instance id"
	node_ip=$(metadata --header "$session" "$imds/meta-data/local-ipv4") ||
		try_again "the metadata service tells no address"
}
