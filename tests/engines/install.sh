# Installs Slurm and munge if they are missing and that is possible here. It never fails: tests that need what could not
# be installed are skipped, and `make test-engines` fails for it at its end. SKIP_SLURM=1 asks for that: nothing is
# installed then, and nothing fails.
if [ "$SKIP_SLURM" = 1 ]; then
    exit 0
fi
for name in slurmctld slurmd munged sbatch; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "$name" >/dev/null 2>&1 || missing="$missing $name"
done
if [ -z "$missing" ]; then
    exit 0
elif [ "$(id -u)" != 0 ]; then
    echo "==> not installed:$missing; only root could install them"
elif ! command -v apt-get >/dev/null 2>&1; then
    echo "==> not installed:$missing; there is no apt-get here to install slurm-wlm and munge with"
else
    echo "==> installing slurm-wlm and munge"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends slurm-wlm munge; } >/dev/null 2>&1 ||
        echo "==> apt-get could not install slurm-wlm and munge, so their tests are skipped"
fi
exit 0
