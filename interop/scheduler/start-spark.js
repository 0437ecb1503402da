// A Spark standalone cluster on loopback: a master, two workers with one core each, and the Connect server. Its files are in
// the pyspark wheel.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../tools/free-ports.js';
import { isListening, startChild } from './child.js';

const START_TIMEOUT_MS = 240_000;
const WORKERS = 2;

/** Starts a cluster, and waits until both workers have an executor. */
export async function startSpark(programs) {
  const [masterPort, masterUi, port, ui, ...workerUis] = await freePorts(4 + WORKERS);
  const root = mkdtempSync(join(tmpdir(), 'svc-spark-'));
  const home = sparkHome(programs);
  const env = {
    HOME: root,
    SPARK_HOME: home,
    SPARK_LOCAL_IP: '127.0.0.1',
    SPARK_LOCAL_HOSTNAME: '127.0.0.1',
    SPARK_WORKER_DIR: join(root, 'work'),
    SPARK_LOCAL_DIRS: join(root, 'local'),
    // Its default port may be taken.
    SPARK_MASTER_OPTS: '-Dspark.master.rest.enabled=false',
  };
  mkdirSync(env.SPARK_WORKER_DIR);
  const children = [];
  const start = (name, memory, script, args) => {
    const child = startChild('bash', [join(home, 'bin', script), ...args], {
      env: { ...env, SPARK_DAEMON_MEMORY: memory },
      log: join(root, `${name}.log`),
    });
    children.push(child);
    return child;
  };
  const stop = async () => {
    // The workers first: they end their executors.
    for (const child of children.toReversed()) await child.kill();
    rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  };
  try {
    const url = `spark://127.0.0.1:${masterPort}`;
    const daemon = ['--host', '127.0.0.1', '--webui-port'];
    const master = start('master', '192m', 'spark-class', [
      'org.apache.spark.deploy.master.Master',
      ...daemon,
      String(masterUi),
      '--port',
      String(masterPort),
    ]);
    await master.until('The start of the master', () => isListening(masterPort), START_TIMEOUT_MS);
    const workers = workerUis.map((workerUi, i) =>
      start(`worker-${i}`, '192m', 'spark-class', [
        'org.apache.spark.deploy.worker.Worker',
        ...daemon,
        String(workerUi),
        '--cores',
        '1',
        '--memory',
        '1g',
        url,
      ]),
    );
    const connect = start('connect', '768m', 'spark-submit', connectArgs({ url, port, ui, root }));
    const isReady = async () => (await isListening(port)) && (await executors(ui)).length === WORKERS;
    await connect.until('The start of Spark', isReady, START_TIMEOUT_MS);
    return {
      port,
      /** The executors as Spark's REST API describes them. */
      executors: () => executors(ui),
      /** The processes of the executors. */
      executorPids: () => workers.flatMap(({ pid }) => childrenOf(pid)),
      /** Kills the Connect server, like a crash. */
      killConnect: connect.kill,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function sparkHome(programs) {
  const lib = join(programs, '..', 'lib');
  return join(lib, readdirSync(lib)[0] ?? '', 'site-packages', 'pyspark');
}

function connectArgs({ url, port, ui, root }) {
  const settings = {
    'spark.connect.grpc.binding.address': '127.0.0.1',
    'spark.connect.grpc.binding.port': port,
    'spark.driver.host': '127.0.0.1',
    'spark.ui.port': ui,
    'spark.sql.shuffle.partitions': 4,
    // Small splits, so that both workers get some of a small frame.
    'spark.sql.files.maxPartitionBytes': '4m',
    'spark.sql.warehouse.dir': join(root, 'warehouse'),
    'spark.locality.wait': '0s',
  };
  return [
    '--class',
    'org.apache.spark.sql.connect.service.SparkConnectServer',
    '--master',
    url,
    '--executor-memory',
    '640m',
    '--executor-cores',
    '1',
    ...Object.entries(settings).flatMap(([key, value]) => ['--conf', `${key}=${value}`]),
    'spark-internal',
  ];
}

async function executors(ui) {
  const api = `http://127.0.0.1:${ui}/api/v1/applications`;
  try {
    const [application] = await (await fetch(api)).json();
    const all = await (await fetch(`${api}/${application.id}/executors`)).json();
    return all.filter(({ id }) => id !== 'driver');
  } catch {
    // Its server has not started yet.
    return [];
  }
}

function childrenOf(pid) {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return processes.filter((name) => parentOf(name) === pid).map(Number);
}

function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, can contain spaces.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}
