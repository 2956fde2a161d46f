/* The one list of diagnostic codes: code, exit code of the program when it is the (first) error.
 * Each has its paragraph in man/raygpu-diagnostics.7.scd; a test compares the two. Exit codes:
 * 1 error, 4 usage or spec, 5 locked, 6 stale plan, 7 credentials or permission, 8 capacity or
 * quota, 9 policy or budget (design.md section 10). Append to your area; codes never change. */
#pragma once

#define RG_DIAG_CODES(X)                                                                           \
	/* files, YAML and the shape of a spec (src/spec) */                                       \
	X("file.unreadable", 4)                                                                    \
	X("file.too-large", 4)                                                                     \
	X("yaml.syntax", 4)                                                                        \
	X("yaml.not-utf8", 4)                                                                      \
	X("yaml.duplicate-key", 4)                                                                 \
	X("yaml.too-deep", 4)                                                                      \
	X("yaml.too-many-nodes", 4)                                                                \
	X("yaml.alias-bomb", 4)                                                                    \
	X("yaml.unknown-anchor", 4)                                                                \
	X("yaml.bad-merge", 4)                                                                     \
	X("yaml.tag", 4)                                                                           \
	X("yaml.several-documents", 4)                                                             \
	X("yaml.key-not-text", 4)                                                                  \
	X("yaml.empty", 4)                                                                         \
	X("spec.unknown-key", 4)                                                                   \
	X("spec.missing-key", 4)                                                                   \
	X("spec.wrong-type", 4)                                                                    \
	X("spec.bad-value", 4)                                                                     \
	X("spec.out-of-range", 4)                                                                  \
	X("spec.bad-pattern", 4)                                                                   \
	X("spec.too-long", 4)                                                                      \
	X("spec.unquoted-number", 4)                                                               \
	X("spec.yaml11-word", 4)                                                                   \
	X("spec.not-supported-yet", 4)                                                             \
	X("spec.one-of", 4)                                                                        \
	X("spec.conflict", 4)                                                                      \
	X("spec.reserved-name", 4)                                                                 \
	X("spec.reserved-label", 4)                                                                \
	X("spec.ray-too-old", 4)                                                                   \
	X("spec.ray-image-mismatch", 4)                                                            \
	X("spec.duplicate-item", 4)                                                                \
	X("spec.bad-accelerator", 4)                                                               \
	X("spec.duplicate-cluster", 4)                                                             \
	X("spec.none-found", 4)                                                                    \
	X("spec.skipped", 1)                                                                       \
	X("spec.removed", 1)                                                                       \
	/* catalog and fit */                                                                      \
	X("catalog.unknown-accelerator", 4)                                                        \
	X("catalog.unknown-type", 4)                                                               \
	X("catalog.unknown-region", 4)                                                             \
	X("catalog.no-offer", 4)                                                                   \
	X("catalog.bad-data", 1)                                                                   \
	X("catalog.no-price", 1)                                                                   \
	X("fit.choice-changed", 1)                                                                 \
	X("fit.network-too-slow", 4)                                                               \
	X("fit.zone-not-offered", 4)                                                               \
	X("fit.no-zone", 4)                                                                        \
	X("fit.image-arch", 4)                                                                     \
	X("fit.gpu-not-supported", 4)                                                              \
	X("fit.disk-too-small", 4)                                                                 \
	X("fit.no-placement", 4)                                                                   \
	X("fit.no-gpu-to-share", 4)                                                                \
	X("fit.mig-unsupported", 4)                                                                \
	X("fit.mig-profile", 4)                                                                    \
	X("fit.mig-too-many", 4)                                                                   \
	X("fit.bad-facts", 1)                                                                      \
	X("compat.ray-python", 4)                                                                  \
	X("compat.no-image", 4)                                                                    \
	X("compat.moving-tag", 4)                                                                  \
	X("compat.cpu-image", 4)                                                                   \
	X("compat.ray-feature", 4)                                                                 \
	X("compat.host-arch", 4)                                                                   \
	X("compat.gpu-dropped", 4)                                                                 \
	X("compat.gpu-too-new", 4)                                                                 \
	X("compat.open-driver", 4)                                                                 \
	X("compat.driver-too-old", 4)                                                              \
	X("topology.slow-network", 1)                                                              \
	X("topology.gang-over-zones", 1)                                                           \
	X("topology.no-placement", 1)                                                              \
	X("topology.no-efa", 1)                                                                    \
	X("topology.head-far", 1)                                                                  \
	X("boot.too-large", 4)                                                                     \
	X("boot.bad-value", 4)                                                                     \
	/* provider modules and the calls to them */                                               \
	X("provider.not-found", 4)                                                                 \
	X("provider.refused", 1)                                                                   \
	X("provider.bad-config", 4)                                                                \
	X("provider.bad-result", 1)                                                                \
	X("provider.denied", 7)                                                                    \
	X("provider.credentials", 7)                                                               \
	X("provider.capacity", 8)                                                                  \
	X("provider.quota", 8)                                                                     \
	X("provider.throttled", 1)                                                                 \
	X("provider.conflict", 1)                                                                  \
	X("provider.invalid", 1)                                                                   \
	X("provider.transient", 1)                                                                 \
	X("provider.gone", 1)                                                                      \
	X("provider.unknown", 1)                                                                   \
	X("provider.canceled", 130)                                                                \
	X("provider.read-only", 1)                                                                 \
	X("http.connect", 1)                                                                       \
	X("http.tls", 1)                                                                           \
	X("http.timeout", 1)                                                                       \
	X("http.bad-reply", 1)                                                                     \
	X("http.module", 1)                                                                        \
	/* refresh, diff, plan */                                                                  \
	X("refresh.incomplete", 1)                                                                 \
	X("refresh.unsettled", 1)                                                                  \
	X("diff.conflict", 1)                                                                      \
	X("diff.unmanaged", 1)                                                                     \
	X("diff.unknown", 1)                                                                       \
	X("plan.bad-file", 4)                                                                      \
	X("plan.stale", 6)                                                                         \
	X("plan.wrong-state", 6)                                                                   \
	X("plan.target-unknown", 4)                                                                \
	X("plan.protected", 9)                                                                     \
	X("policy.max-nodes", 9)                                                                   \
	X("policy.accelerator", 9)                                                                 \
	X("policy.instance-type", 9)                                                               \
	X("policy.region", 9)                                                                      \
	X("policy.provider", 9)                                                                    \
	X("policy.market", 9)                                                                      \
	X("policy.label", 9)                                                                       \
	X("policy.public-address", 9)                                                              \
	X("policy.image", 9)                                                                       \
	X("budget.exceeded", 9)                                                                    \
	X("budget.unknown", 9)                                                                     \
	/* state */                                                                                \
	X("state.unreadable", 1)                                                                   \
	X("state.not-a-state", 1)                                                                  \
	X("state.newer", 1)                                                                        \
	X("state.corrupt", 1)                                                                      \
	X("state.locked", 5)                                                                       \
	X("state.unwritable", 1)                                                                   \
	X("state.moved", 6)                                                                        \
	X("state.no-such-resource", 4)                                                             \
	X("state.no-such-cluster", 4)                                                              \
	X("state.not-empty", 4)                                                                    \
	X("state.no-marks", 4)                                                                     \
	X("state.ambiguous", 1)                                                                    \
	X("state.not-told", 1)                                                                     \
	/* apply */                                                                                \
	X("apply.blocked", 1)                                                                      \
	X("apply.declined", 1)                                                                     \
	X("apply.no-terminal", 4)                                                                  \
	/* git */                                                                                  \
	X("git.not-owner", 1)                                                                      \
	X("git.unreadable", 1)                                                                     \
	X("git.no-repository", 4)                                                                  \
	X("git.no-revision", 4)                                                                    \
	X("git.no-file", 4)                                                                        \
	X("git.no-ancestor", 4)                                                                    \
	/* command line */                                                                         \
	X("usage.unknown-command", 4)                                                              \
	X("usage.unknown-option", 4)                                                               \
	X("usage.bad-argument", 4)                                                                 \
	X("usage.missing-argument", 4)                                                             \
	X("usage.conflict", 4)
