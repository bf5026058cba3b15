/* data_options.h - the words of options that the rows of data_options.c name. */
#ifndef CK_DATA_OPTIONS_H
#define CK_DATA_OPTIONS_H

#include "coke.h"

enum ck_bad { CK_BAD_SKIP, CK_BAD_REPLACE, CK_BAD_ERROR };
enum ck_norm { CK_NORM_AUTO, CK_NORM_IMAGENET, CK_NORM_CIFAR10, CK_NORM_HALF };

int ck_loader_options_check(const struct coke_loader_options *o);

#endif
