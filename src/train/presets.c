/* presets.c - the runs of the paper and smaller ones, as options in text form. */
#include "core/error.h"
#include "train/train_options.h"

#include <stdio.h>
#include <string.h>

#define IMAGENET                                                                               \
    " arch=resnet50 stem=imagenet dim=128 k=3000,4000,5000 ratio=0.4 eta=20 eta-mode=shared "  \
    "optimizer=lars rate=1.6 batch=1024 momentum=0.9 weight-decay=1e-6"
#define CIFAR                                                                                  \
    " recipe=cifar arch=resnet18 stem=cifar dim=128 epochs=401 warmup=10 temperature=0.05 "    \
    "alpha=0.2 optimizer=sgd rate=0.2 momentum=0.9 batch=128 ratio=0.9 eta=0.1 "               \
    "eta-mode=shared"
/* Where the paper is silent about CIFAR: as in the authors' later code for the same experiments,
 * and as its ImageNet runs read literally (docs/training.md). */
#define CIFAR_LATER " projector=mlp2bn predictor=off beta=0 weight-decay=1e-4"
#define CIFAR_LITERAL " projector=mlp3 predictor=on beta=0.5 weight-decay=1e-6"
/* The authors' program: the center rate is constant for either constraint. */
#define SECU " method=secu projector=mlp2bn predictor=off weight-decay=1e-4"
/* solo-learn's runs on CIFAR: ResNet-18, 1000 epochs, rates for batch 256. Its asymmetric views are
 * those of cifar-small with larger crops. */
#define SOLO " arch=resnet18 stem=cifar epochs=1001 warmup=10 batch=256 momentum=0.9"
#define ASYMMETRIC " recipe=cifar-small min-scale=0.08"
#define SOLO_LARS SOLO " optimizer=lars trust=0.02 trust-clip=on"
/* The papers' runs on ImageNet. Recipe double is BYOL's views, which others took over. */
#define RESNET50 " recipe=double arch=resnet50 stem=imagenet warmup=10 momentum=0.9"
#define SIMSIAM_HEADS                                                                          \
    " projector=2048-bn-relu-2048-bn-relu-2048-bn0 predictor=512-bn-relu-2048 "                \
    "predictor-rate=constant"
/* Heads and settings of methods, for any images: solo-learn's, of MoCo-v3 and MSN the authors'. */
#define BYOL                                                                                   \
    "method=byol projector=4096-bn-relu-256 predictor=4096-bn-relu-256 momentum-start=0.99 "   \
    "momentum-end=1 weight-decay=1e-5"
#define MOCOV2                                                                                 \
    "method=mocov2 projector=2048-relu-256 predictor=off temperature=0.2 "                     \
    "momentum-start=0.99 momentum-end=0.999 optimizer=sgd weight-decay=1e-4"
#define MOCOV3                                                                                 \
    "method=mocov3 projector=4096-bn-relu-256-bn0 predictor=4096-bn-relu-256 temperature=1 "   \
    "momentum-start=0.99 momentum-end=1 weight-decay=1e-6"
#define NNCLR                                                                                  \
    "method=nnclr projector=2048-bn-relu-2048-bn-relu-256-bn predictor=4096-bn-relu-256 "      \
    "temperature=0.2 weight-decay=1e-5"
#define SWAV                                                                                   \
    "method=swav projector=2048-bn-relu-128 predictor=off temperature=0.1 weight-decay=1e-6"
#define DINO                                                                                   \
    "method=dino projector=2048-gelu-2048-gelu-256 predictor=off temperature=0.1 "             \
    "momentum-start=0.9995 momentum-end=1 weight-decay=1e-6"
#define TENS "k=10,20,30,40,50,60,70,80,90,100"
#define TWENTIES "k=20,40,60,80,100,120,140,160,180,200"

/* Few epochs of a small network: docs/training.md explains the choice, docs/results.md compares
 * others. */
#define SMALL                                                                                  \
    " recipe=cifar-small arch=resnet18 stem=cifar width=0.25 zero-residual=on dim=64 "         \
    "projector=mlp3 predictor=on temperature=0.2 alpha=1 beta=0.5 optimizer=sgd rate=0.2 "     \
    "warmup=2 "                                                                                \
    "batch=128 ratio=0.9 eta-mode=scaled update=epoch weight-decay=1e-4"
/* The best features that a few hours give. */
#define SIMCLR_SMALL                                                                           \
    "method=simclr recipe=cifar-small embed-size=32 min-scale=0.1 arch=resnet18 stem=cifar "   \
    "projector=1024-bn-relu-128 predictor=off temperature=0.2 optimizer=sgd rate=0.2 "         \
    "weight-decay=1e-4 batch=128 warmup=1"

static const struct {
    const char *name, *about, *options;
} presets[] = {
    {"imagenet-single", "the paper's single view, 1000 epochs with a second stage",
     "recipe=single projector=mlp3 predictor=on epochs=1001 stage=801 temperature=0.1 "
     "beta=1" IMAGENET},
    {"imagenet-double", "the paper's two views",
     "recipe=double projector=mlp3 predictor=on epochs=1001 temperature=0.05 alpha=0.2 "
     "beta=0.5" IMAGENET},
    {"imagenet-multi", "the paper's two large and six small views",
     "recipe=multi small-views=6 projector=mlp3 predictor=on epochs=801 temperature=0.05 "
     "alpha=0.2 "
     "beta=0.5 large-weight=0.5" IMAGENET},
    {"imagenet-single-800", "the paper's single view without a predictor",
     "recipe=single projector=mlp2 predictor=off epochs=801 stage=641 temperature=0.1 "
     "beta=0" IMAGENET},
    {"imagenet-ablation", "the paper's ablations: 200 epochs, one head",
     "recipe=single projector=mlp2 predictor=off epochs=201 temperature=0.1 beta=0" IMAGENET
     " k=3000"},
    {"cifar10", "the paper's CIFAR-10, details as in the authors' later code",
     TENS CIFAR CIFAR_LATER},
    {"cifar10-literal", "the paper's CIFAR-10, details as in its ImageNet runs",
     TENS CIFAR CIFAR_LITERAL},
    {"cifar10-small", "CIFAR-10 in about half an hour on two cores: a quarter of the width",
     TENS " size=24 embed-size=32 epochs=31 eta=0.1" SMALL},
    {"demo",
     "three minutes on two cores, for synthetic:n=3000 and other small pictures of shapes",
     "channels=1" SMALL
     " k=10,30,100 size=18 embed-size=24 epochs=50 batch=64 rate=0.3 eta=0.15"},
    {"cifar100-20", "the paper's CIFAR-100 with its 20 super-classes",
     "coarse=on " TWENTIES CIFAR CIFAR_LATER},
    {"secu", "SeCu, for any images: set k", "method=secu projector=mlp2bn predictor=off"},
    {"simclr", "SimCLR, for any images",
     "method=simclr projector=mlp2 predictor=off temperature=0.2"},
    {"simsiam", "SimSiam, for any images",
     "method=simsiam predictor-rate=constant projector=2048-bn-relu-2048-bn-relu-2048-bn0 "
     "predictor=512-bn-relu-2048"},
    {"byol", "BYOL, for any images", BYOL},
    {"mocov2", "MoCo-v2 with both directions and a queue per view, for any images", MOCOV2},
    {"mocov3", "MoCo-v3, for any images", MOCOV3},
    {"nnclr", "NNCLR, for any images", NNCLR},
    {"swav", "SwAV, for any images", SWAV " queue=3840"},
    {"dino", "DINO, for any images", DINO " prototypes=4096"},
    {"msn", "MSN without masks, for any images",
     "method=msn projector=2048-bn-relu-2048-bn-relu-256 predictor=off temperature=0.1 "
     "prototypes=1024 momentum-start=0.996 momentum-end=1 weight-decay=1e-6"},
    {"cifar10-byol", "BYOL as in solo-learn", BYOL SOLO_LARS ASYMMETRIC " rate=1"},
    {"cifar10-mocov2", "MoCo-v2+ as in solo-learn",
     MOCOV2 SOLO " recipe=cifar-weak queue=32768 rate=0.3"},
    {"cifar10-mocov3", "MoCo-v3 as in solo-learn",
     MOCOV3 SOLO_LARS ASYMMETRIC " temperature=0.2 rate=0.3"},
    {"cifar10-nnclr", "NNCLR as in solo-learn",
     NNCLR SOLO_LARS ASYMMETRIC " queue=65536 rate=0.4"},
    {"cifar10-swav", "SwAV as in solo-learn",
     SWAV SOLO_LARS
     " recipe=cifar-strong queue=3840 queue-from=51 freeze-prototypes=2 rate=0.6"},
    {"cifar10-dino", "DINO as in solo-learn",
     DINO SOLO_LARS ASYMMETRIC " prototypes=4096 rate=0.3"},
    {"imagenet-byol", "BYOL as published",
     BYOL " momentum-start=0.996 rate=3.2 weight-decay=1.5e-6 epochs=1001 batch=4096" RESNET50},
    {"imagenet-mocov2", "MoCo-v2 as published: one direction",
     MOCOV2 " projector=2048-relu-128 symmetric=off queue=65536 momentum-start=0.999 rate=0.03 "
            "epochs=201 batch=256" RESNET50 " recipe=weak warmup=0"},
    {"imagenet-mocov3", "MoCo-v3 as published, 300 epochs",
     MOCOV3 " rate=4.8 min-scale=0.2 zero-residual=on epochs=301 "
            "batch=4096" RESNET50},
    {"imagenet-nnclr", "NNCLR as published",
     NNCLR " temperature=0.1 queue=98304 rate=4.8 weight-decay=1e-6 epochs=1001 "
           "batch=4096" RESNET50},
    {"imagenet-swav", "SwAV as published: two large and six small views",
     SWAV " prototype-norm=sphere queue=0 rate=4.8 epochs=801 batch=4096" RESNET50
          " recipe=multi-swav small-views=6"},
    {"imagenet-dino", "DINO as published for ResNet-50: two large and eight small views",
     DINO " optimizer=sgd rate=0.06 weight-decay=1e-4 prototypes=65536 momentum-start=0.996 "
          "teacher-temperature=0.04 clip=3 epochs=101 batch=512" RESNET50 " recipe=multi-dino "
          "small-views=8"},
    {"barlow", "Barlow Twins, for any images",
     "method=barlow projector=2048-bn-relu-2048-bn-relu-2048 predictor=off weight-decay=1e-4"},
    {"vicreg", "VICReg, for any images",
     "method=vicreg projector=2048-bn-relu-2048-bn-relu-2048 predictor=off weight-decay=1e-4 "
     "variance-weight=50"},
    {"emp", "EMP-SSL, for any images: 16 views",
     "method=emp projector=4096-bn-relu-4096-bn-relu-1024 predictor=off weight-decay=1e-4 "
     "views=16 "
     "batch=100"},
    {"cifar10-secu", "SeCu's CIFAR-10",
     TENS CIFAR SECU " center-rate=1.2 normalize=0.4914,0.4822,0.4465,0.2023,0.1994,0.2010"},
    {"cifar100-20-secu", "SeCu's CIFAR-100 with its 20 super-classes",
     "coarse=on " TWENTIES CIFAR SECU " epochs=801 min-scale=0.2 center-rate=0.8"},
    {"stl10-secu", "SeCu's STL-10: training and unlabeled images, 96 pixels",
     TENS CIFAR SECU " epochs=801 size=96 stem=stl min-scale=0.2 center-rate=0.8 "
                     "center-temperature=1 normalize=imagenet"},
    {"deepclusterv2", "DeepCluster-v2, for any images: set k, as in k=3000,3000,3000",
     "method=deepclusterv2 projector=2048-bn-relu-128 predictor=off temperature=0.1 ratio=0"},
    {"scan", "SCAN, for any images: set k, and from to a trained run",
     "method=scan projector=linear predictor=off optimizer=adam rate=1e-4 weight-decay=1e-4 "
     "batch=128 epochs=51"},
    {"selflabel", "self-labelling of a run with clusters: set from",
     "method=selflabel recipe=weak-strong predictor=off optimizer=adam rate=1e-4 "
     "weight-decay=1e-4"},
    {"iic", "IIC, for any images: set k",
     "method=iic projector=linear predictor=off optimizer=adam rate=1e-4 weight-decay=0"},
    {"supervised", "the classes of the images, with any images that have them",
     "method=supervised projector=linear predictor=off optimizer=sgd weight-decay=5e-4"},
    {"cifar10-simclr", "SimCLR as in solo-learn",
     "method=simclr projector=2048-relu-256 predictor=off temperature=0.2 rate=0.4 "
     "recipe=cifar-strong weight-decay=1e-4" SOLO_LARS},
    {"cifar10-simclr-small",
     "CIFAR-10 in less than half an hour on one core: SimCLR, views of 16 pixels, a quarter of "
     "the width",
     SIMCLR_SMALL " size=16 width=0.25 epochs=46"},
    {"cifar10-simclr-medium",
     "CIFAR-10 in an hour and a half on two cores: SimCLR, views of 16, then 24 pixels, half "
     "the width",
     SIMCLR_SMALL " size=24 size-schedule=16,16,24 width=0.5 epochs=109"},
    {"cifar10-simsiam", "SimSiam as in solo-learn",
     "method=simsiam rate=0.5 recipe=cifar-weak weight-decay=1e-5 "
     "optimizer=sgd" SIMSIAM_HEADS SOLO},
    {"cifar10-barlow", "Barlow Twins as in solo-learn",
     "method=barlow projector=2048-bn-relu-2048-bn-relu-2048 predictor=off rate=0.3 "
     "weight-decay=1e-4" SOLO_LARS ASYMMETRIC},
    {"cifar10-vicreg", "VICReg as in solo-learn",
     "method=vicreg projector=2048-bn-relu-2048-bn-relu-2048 predictor=off variance-weight=50 "
     "rate=0.3 recipe=cifar-solarize weight-decay=1e-4" SOLO_LARS},
    {"cifar10-deepclusterv2", "DeepCluster-v2 as in solo-learn",
     "method=deepclusterv2 projector=2048-bn-relu-128 predictor=off temperature=0.1 ratio=0 "
     "k=3000,3000,3000 rate=0.6 recipe=cifar-strong weight-decay=1e-6" SOLO_LARS " warmup=11"},
    {"cifar10-scan", "SCAN's clustering of CIFAR-10, from a trained run",
     "method=scan projector=linear predictor=off k=10 recipe=cifar optimizer=adam rate=1e-4 "
     "weight-decay=1e-4 batch=128 epochs=51"},
    {"cifar10-selflabel", "SCAN's self-labelling on CIFAR-10, from a run with clusters",
     "method=selflabel recipe=cifar-weak-strong predictor=off optimizer=adam rate=1e-4 "
     "weight-decay=1e-4 threshold=0.99 batch=1000 epochs=201"},
    {"cifar10-iic", "IIC on CIFAR-10",
     "method=iic projector=linear predictor=off k=10 recipe=cifar arch=resnet34 stem=cifar "
     "optimizer=adam rate=1e-4 weight-decay=0 batch=660 epochs=401"},
    {"cifar10-supervised", "the classes of CIFAR-10",
     "method=supervised projector=linear predictor=off recipe=cifar-single arch=resnet18 "
     "stem=cifar optimizer=sgd rate=0.1 weight-decay=5e-4 batch=128 epochs=201"},
    {"imagenet-simclr", "SimCLR as published",
     "method=simclr projector=2048-relu-128 predictor=off temperature=0.1 optimizer=lars "
     "rate=4.8 batch=4096 weight-decay=1e-6 epochs=1001" RESNET50 " recipe=strong"},
    {"imagenet-simsiam", "SimSiam as published",
     "method=simsiam optimizer=sgd rate=0.1 batch=512 weight-decay=1e-4 "
     "epochs=101" SIMSIAM_HEADS RESNET50 " recipe=weak warmup=0"},
    {"imagenet-barlow", "Barlow Twins as published",
     "method=barlow projector=8192-bn-relu-8192-bn-relu-8192 predictor=off optimizer=lars "
     "rate=1.6 batch=2048 weight-decay=1.5e-6 loss-scale=0.024 epochs=1001" RESNET50},
    {"imagenet-vicreg", "VICReg as published",
     "method=vicreg projector=8192-bn-relu-8192-bn-relu-8192 predictor=off optimizer=lars "
     "rate=1.6 batch=2048 weight-decay=1e-6 epochs=1001" RESNET50},
    {"imagenet-deepclusterv2", "DeepCluster-v2 as published, with two views",
     "method=deepclusterv2 projector=2048-bn-relu-128 predictor=off temperature=0.1 ratio=0 "
     "k=3000,3000,3000 optimizer=lars rate=4.8 batch=4096 weight-decay=1e-6 "
     "epochs=401" RESNET50 " recipe=strong"},
    {"imagenet-supervised", "the classes of ImageNet, 90 epochs",
     "method=supervised projector=linear predictor=off optimizer=sgd rate=0.4 batch=1024 "
     "weight-decay=1e-4 epochs=91" RESNET50 " recipe=single"},
};

enum { PRESETS = sizeof presets / sizeof presets[0], WORD = 128 };

const char *ck_train_preset_name(int i)
{
    return i >= 0 && i < PRESETS ? presets[i].name : NULL;
}

const char *ck_train_preset_about(int i)
{
    return i >= 0 && i < PRESETS ? presets[i].about : NULL;
}

/* text: "name=value name=value ...", all of it valid. */
static int apply(struct ck_train_options *o, const char *text)
{
    const struct ck_option_table *t = ck_train_option_table();
    char word[WORD];
    while (*text) {
        size_t n = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, text);
        char *value = strchr(word, '=');
        *value++ = 0;
        int rc = ck_options_set(t, o, word, value);
        if (rc)
            return rc;
        text += n + strspn(text + n, " ");
    }
    return COKE_OK;
}

int ck_train_preset(struct ck_train_options *o, const char *name)
{
    char names[2048] = "";
    for (int i = 0; i < PRESETS; i++) {
        if (strcmp(presets[i].name, name) == 0)
            return apply(o, presets[i].options);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
                 presets[i].name);
    }
    return ck_fail(COKE_EUSAGE, "unknown preset '%s'; the presets are %s", name, names);
}
