# Sourced by the tests (make check): what every mpirun needs to start more ranks than cores, as root too.
# The launcher of Open MPI 4 reads OMPI_, that of Open MPI 5 PRTE_; each ignores the other's.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
OMPI_MCA_btl_base_warn_component_unused=0
# A fifth of the time of a start: no files in shared memory for what PMIx knows of a job, and no look for munge.
PMIX_MCA_gds=hash PMIX_MCA_psec=native
OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=passive
OPENBLAS_NUM_THREADS=1
CK_VERBOSITY=silent CK_TAP_LOG_FILE_NAME=- CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-300}
ASAN_OPTIONS=fast_unwind_on_malloc=0:detect_leaks=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
UBSAN_OPTIONS=print_stacktrace=1
if [ "${TW_MPI-}" = mpich ]; then
    TW_YIELD=$top_builddir/tests/.libs/yield.so
    LD_PRELOAD=$TW_YIELD
    ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
    export LD_PRELOAD TW_YIELD
fi
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe
export PRTE_ALLOW_RUN_AS_ROOT PRTE_ALLOW_RUN_AS_ROOT_CONFIRM PRTE_MCA_rmaps_default_mapping_policy
export PRTE_MCA_hwloc_default_binding_policy
export OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_mpi_yield_when_idle OMPI_MCA_pml OMPI_MCA_btl
export OMPI_MCA_btl_base_warn_component_unused PMIX_MCA_gds PMIX_MCA_psec OMP_NUM_THREADS OMP_WAIT_POLICY OPENBLAS_NUM_THREADS
export CK_VERBOSITY CK_TAP_LOG_FILE_NAME CK_DEFAULT_TIMEOUT ASAN_OPTIONS UBSAN_OPTIONS
