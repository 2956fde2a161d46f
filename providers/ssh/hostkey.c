#include "ssh/hostkey.h"
#include <string.h>

/* The words of sshconnect.c, check_host_key() and warn_changed_key(). */
#define CHANGED "REMOTE HOST IDENTIFICATION HAS CHANGED"
#define PLACE "^Offending \\S+ key in (/.+):([0-9]+)\\s*$"
#define NAME "^Host key for (\\S+) has changed"
#define PRINT "SHA256:[A-Za-z0-9+/=]+"

/* The group of the first match; NULL: there is none. g_free */
static char *find(const char *text, const char *pattern, int group)
{
	g_autoptr(GRegex) regex = g_regex_new(pattern, G_REGEX_MULTILINE | G_REGEX_RAW, 0, NULL);
	g_autoptr(GMatchInfo) match = NULL;
	return g_regex_match(regex, text, 0, &match) ? g_match_info_fetch(match, group) : NULL;
}

bool ssh_known_key_read(SshKnownKey *key, const char *errors)
{
	*key = (SshKnownKey){find(errors, NAME, 1), find(errors, PLACE, 1), find(errors, PLACE, 2)};
	return strstr(errors, CHANGED) && key->name && key->file && key->line;
}

void ssh_known_key_clear(SshKnownKey *key)
{
	g_free(key->name);
	g_free(key->file);
	g_free(key->line);
	*key = (SshKnownKey){0};
}

/* A line "# Host NAME found: line 3" before each key: ssh-keygen.c, known_hosts_find_delete(). */
char *ssh_known_key_print(const SshKnownKey *key, const char *output)
{
	g_autofree char *pattern =
		g_strdup_printf("found: line %s\\s*\n[^\n]*(" PRINT ")", key->line);
	return find(output, pattern, 1);
}

char *ssh_shown_key_print(const char *errors)
{
	return find(errors, PRINT, 0);
}
