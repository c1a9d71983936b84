# A Slurm of this machine alone, for tests that source this file: as root, without systemd and cgroups, in a folder of its own.
# Debian: slurmctld slurmd slurm-client munge procps.

# slurm_missing: prints what a cluster lacks here, if anything.
slurm_missing() {
  local program
  for program in munged slurmctld slurmd sbatch pgrep; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || { echo "$program is not installed (Debian: slurmctld slurmd slurm-client munge procps)"; return; }
  done
  [ "$(id -u)" = 0 ] || echo "Slurm's daemons are started as root"
}

# start_cluster FOLDER: one node with 4 processors (as far as Slurm knows), the partitions `work` and, to preempt it, `urgent`.
# Sets SLURM_CONF; stop_cluster ends the daemons. Ports do not follow from $RANDOM, whose seed may be the same in two tests at once.
start_cluster() {
  local folder=$1 host port
  host=$(hostname -s)
  port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 10000))
  slurm_daemons=()
  mkdir -p "$folder"/{munge,state,spool}
  chmod 700 "$folder/munge"
  head -c 1024 /dev/urandom >"$folder/munge/key"
  chmod 400 "$folder/munge/key"
  cat >"$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=1
ReturnToService=2
KillWait=20
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=16000
PartitionName=work Nodes=$host Default=YES PriorityTier=1 DefMemPerCPU=500
PartitionName=urgent Nodes=$host PriorityTier=10 DefMemPerCPU=500
CONF
  export SLURM_CONF=$folder/slurm.conf PATH=$PATH:/usr/sbin
  munged --force --foreground --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
    --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" >"$folder/munged.log" 2>&1 &
  slurm_daemons+=($!)
  while [ ! -S "$folder/munge/socket" ] && kill -0 $! 2>/dev/null; do sleep 0.05; done
  slurmctld -D -i -f "$SLURM_CONF" >"$folder/slurmctld.log" 2>&1 &
  slurm_daemons+=($!)
  slurmd -D -N "$host" -f "$SLURM_CONF" -d "$(command -v slurmstepd)" >"$folder/slurmd.log" 2>&1 &
  slurm_daemons+=($!)
  for _ in $(seq 1200); do
    ! sinfo --noheader --format=%T 2>/dev/null | grep -qx idle || return 0
    sleep 0.1
  done
  echo "the test cluster did not start:"
  tail -5 "$folder"/*.log
  return 1
}

# Ends jobs, then the daemons that start_cluster started. Slurm kills a job's processes once it was asked to end for KillWait
# seconds: daemons that end before would leave them behind.
stop_cluster() {
  local left="" most_seconds
  [ ${#slurm_daemons[@]} -gt 0 ] || return 0
  most_seconds=$(($(sed -n 's/^KillWait=//p' "$SLURM_CONF") + 10))
  scancel --user=root 2>/dev/null || true
  for _ in $(seq $((10 * most_seconds))); do
    left=$(squeue --noheader 2>/dev/null) || left=""
    [ -n "$left" ] || break
    sleep 0.1
  done
  [ -z "$left" ] || printf 'jobs that did not end in %s s:\n%s\n' "$most_seconds" "$left"
  kill "${slurm_daemons[@]}" 2>/dev/null || true
  wait "${slurm_daemons[@]}" 2>/dev/null || true
  slurm_daemons=()
}
