/* plugin.h - where a plug-in of the library is: a shared object that is loaded only when it is
 * needed. */
#ifndef CK_PLUGIN_H
#define CK_PLUGIN_H

#include <stddef.h>

/* path [room] becomes the value of the environment variable, else FILE beside the library, else
 * FILE for the system's library path. */
void ck_plugin_find(const char *variable, const char *file, char *path, size_t room);

#endif
