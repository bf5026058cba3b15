# clustering.cmake - which sources a build without networks has (COKE_NN=OFF): levels 1 and 2 of
# coke.h, and the commands cluster, assign, info and demo-vectors.
string(JOIN "|" COKE_ONLY
  "src/(core|io|dist|cluster|store)/"
  "kernels/(amx|kernels(_ref|_avx2|_avx512|_vnni|_amx|_amx_emulated)?)\\.c$"
  "data/(synthetic_vectors|data_options)\\.c$"
  "train/use_options\\.c$"
  "eval/agreement\\.c$"
  "api/check_args\\.c$"
  "api/api_(agreement|cluster|files|json|kmeans|model|options|process|without_nn)\\.c$")
set(COKE_WITHOUT "core/workers\\.c$" "store/clustering_folder\\.c$")
set(CLI_WITHOUT "cmd_(data|demo|embed|eval|eval_learn|export|import|report|train)\\.c$"
    "cli/(exam|exchanged|eval_vectors)\\.c$")
