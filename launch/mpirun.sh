#!/bin/sh
# The archive contains this script as bin/mpirun and bin/orted, which start Open MPI's programs with the archive's paths.
program=$(readlink -f "$0")
OPAL_PREFIX=${program%/bin/*}
PMIX_PKGLIBDIR=$OPAL_PREFIX/lib/pmix
PMIX_PKGDATADIR=$OPAL_PREFIX/share/pmix
export OPAL_PREFIX PMIX_PKGLIBDIR PMIX_PKGDATADIR
if [ "${program##*/}" = orted ]; then
  exec "$OPAL_PREFIX/libexec/orted" "$@"
fi

# Without ssh, Open MPI starts no processes, not even on this machine, unless its rsh plugin is excluded.
if ! command -v ssh >/dev/null && ! command -v rsh >/dev/null; then
  export OMPI_MCA_plm="${OMPI_MCA_plm:-^rsh}"
fi
exec "$OPAL_PREFIX/bin/orterun" "$@"
