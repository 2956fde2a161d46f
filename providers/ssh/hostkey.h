/* A host key that has changed, as ssh and ssh-keygen describe it. Pure. */
#pragma once
#include <glib.h>
#include <stdbool.h>

/* The key that known_hosts has. */
typedef struct {
	char *name; /* of the host, as known_hosts has it: "[gpu01]:2222" */
	char *file, *line;
} SshKnownKey;

/* From the errors of ssh; false if they are about something else. */
bool ssh_known_key_read(SshKnownKey *key, const char *errors);
void ssh_known_key_clear(SshKnownKey *key);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SshKnownKey, ssh_known_key_clear)
/* "SHA256:...", from the output of `ssh-keygen -l -F NAME -f FILE`; NULL: it is not there. g_free
 */
char *ssh_known_key_print(const SshKnownKey *key, const char *output);
/* That of the key that the host shows now, from the errors of ssh; NULL. g_free */
char *ssh_shown_key_print(const char *errors);
