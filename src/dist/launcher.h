/* launcher.h - was this process started together with others, and how to reach them. */
#ifndef CK_LAUNCHER_H
#define CK_LAUNCHER_H

#include "dist/transport.h"

/* Under mpirun or srun, loads the plug-in and connects; alone, leaves *t as it is. */
int ck_launcher_connect(struct ck_transport *t);

#endif
