# Installs a Java, for Spark and Flink, if there is none and that is possible here. It never fails: tests that need what
# could not be installed are skipped, and `make test-engines` fails for it at its end. SKIP_SPARK=1 and SKIP_FLINK=1
# together ask for that: nothing is installed then.
if [ "$SKIP_SPARK$SKIP_FLINK" = 11 ] || command -v java >/dev/null 2>&1; then
    exit 0
elif [ "$(id -u)" != 0 ]; then
    echo "==> there is no Java; only root could install it (on Debian: apt-get install openjdk-17-jre-headless)"
elif ! command -v apt-get >/dev/null 2>&1; then
    echo "==> there is no Java, and no apt-get here to install openjdk-17-jre-headless with"
else
    echo "==> installing openjdk-17-jre-headless"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends openjdk-17-jre-headless; } >/dev/null 2>&1 ||
        echo "==> apt-get could not install openjdk-17-jre-headless, so the tests on Spark and Flink are skipped"
fi
exit 0
