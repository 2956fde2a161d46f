/* `cdi: init`: an init container that writes the node's CDI specification, for nodes where it is
 * out of date after a change of the driver or of MIG slices (NVIDIA/nvidia-container-toolkit#856,
 * #1828). The devices of Ray's container are looked up when that starts, so after this one has
 * ended. The init container itself requests no GPU and must not be given any: it may be the one
 * that makes that possible. It is privileged, and only on request. */
#include "kubernetes/lower.h"

#define IMAGE "nvcr.io/nvidia/k8s/container-toolkit:v1.17.8-ubuntu20.04"
/* where the GPU Operator has its driver and its toolkit on a node */
#define DRIVER_ROOT "/run/nvidia/driver"
#define HOOK "/usr/local/nvidia/toolkit/nvidia-cdi-hook"
#define SPECS "/var/run/cdi"

static const char *setting(const json_t *settings, const char *name, const char *otherwise)
{
	const char *chosen = mod_str(settings, name);
	return *chosen ? chosen : otherwise;
}

static json_t *host_path(const char *name, const char *path, const char *type)
{
	return json_pack(
		"{s:s, s:{s:s, s:s}}", "name", name, "hostPath", "path", path, "type", type);
}

static json_t *mount(const char *name, const char *path)
{
	return json_pack("{s:s, s:s}", "name", name, "mountPath", path);
}

static json_t *container_of(const json_t *settings)
{
	const char *root = setting(settings, "driver_root", DRIVER_ROOT);
	json_auto_t *sizes = json_pack("{s:s, s:s}", "cpu", "200m", "memory", "256Mi");
	json_t *command = json_pack("[s, s, s, o, s, o, s]", "nvidia-ctk", "cdi", "generate",
		json_sprintf("--driver-root=%s", root), "--dev-root=/",
		json_sprintf("--nvidia-cdi-hook-path=%s", setting(settings, "hook", HOOK)),
		"--output=" SPECS "/nvidia.yaml");
	return json_pack(
		"{s:s, s:s, s:o, s:[{s:s, s:s}], s:{s:b, s:i, s:b}, s:{s:O, s:O}, s:[o, o, o]}",
		"name", "cdi", "image", setting(settings, "image", IMAGE), "command", command,
		"env", "name", "NVIDIA_VISIBLE_DEVICES", "value", "void", "securityContext",
		"privileged", 1, "runAsUser", 0, "runAsNonRoot", 0, "resources", "limits", sizes,
		"requests", sizes, "volumeMounts", mount("cdi-specs", SPECS),
		mount("cdi-dev", "/dev"), mount("cdi-driver", root));
}

void kube_lower_cdi(const KubeLowering *lowering, const json_t *node, json_t *spec)
{
	const json_t *settings = kube_lower_setting(lowering, "cdi");
	const char *root = setting(settings, "driver_root", DRIVER_ROOT);
	if (!settings || mod_int(json_object_get(node, "offer"), "gpus") == 0)
		return;
	json_object_set_new(spec, "initContainers", json_pack("[o]", container_of(settings)));
	json_object_set_new(spec, "volumes",
		json_pack("[o, o, o]", host_path("cdi-specs", SPECS, "DirectoryOrCreate"),
			host_path("cdi-dev", "/dev", "Directory"),
			host_path("cdi-driver", root, "Directory")));
}
