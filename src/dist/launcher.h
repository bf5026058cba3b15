/* launcher.h - detects a launcher (mpirun, srun) and connects to the other processes. */
#ifndef CK_LAUNCHER_H
#define CK_LAUNCHER_H

#include "dist/transport.h"

/* Under a launcher, loads the plug-in and fills *t; otherwise leaves *t unchanged. The plug-in
 * stays loaded until the process ends. */
int ck_launcher_connect(struct ck_transport *t);

#endif
