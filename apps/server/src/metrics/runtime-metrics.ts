import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import type { Descriptors, DescriptorCounts } from '../watch-descriptors.ts';
import type { Registry } from './registry.ts';

/** Metrics of the process: memory, CPU, event loop and garbage collection. */
export interface RuntimeMetrics {
  /** Updates the gauges. */
  collect(): Promise<void>;
  close(): void;
}

/** The interval between measurements of the event loop. */
const RESOLUTION_MS = 20;
const QUANTILES = [0.5, 0.9, 0.99, 1];
const NANOSECONDS = 1e9;

const GC_KINDS: ReadonlyMap<number, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weak_callbacks'],
]);

/** Starts to measure the process. */
export function createRuntimeMetrics(
  registry: Registry,
  version: string,
  descriptors: Pick<Descriptors, 'count'>,
): RuntimeMetrics {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const collections = observeCollections(registry);
  registry.sample('svc_build_info', version, process.versions.node).value = 1;
  const start = registry.sample('process_start_time_seconds');
  start.value = Math.round(Date.now() - process.uptime() * 1000) / 1000;

  return {
    async collect() {
      for (const q of QUANTILES) {
        // The histogram contains the interval itself. It is empty right after a reset.
        const nanoseconds = delay.count === 0 ? 0 : q === 1 ? delay.max : delay.percentile(q * 100);
        const seconds = nanoseconds / NANOSECONDS - RESOLUTION_MS / 1000;
        registry.sample('svc_event_loop_delay_seconds', String(q)).value = Math.max(0, seconds);
      }
      delay.reset();
      collectMemory(registry);
      const { user, system } = process.cpuUsage();
      registry.sample('process_cpu_seconds_total').value = (user + system) / 1e6;
      collectDescriptors(registry, await descriptors.count());
    },
    close() {
      delay.disable();
      collections.disconnect();
    },
  };
}

function observeCollections(registry: Registry): PerformanceObserver {
  for (const kind of GC_KINDS.values()) registry.sample('svc_gc_seconds_total', kind);
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const kind = GC_KINDS.get(gcKindOf(entry));
      if (kind !== undefined) registry.sample('svc_gc_seconds_total', kind).value += entry.duration / 1000;
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return observer;
}

function gcKindOf(entry: object): number {
  const detail = 'detail' in entry ? entry.detail : undefined;
  return typeof detail === 'object' && detail !== null && 'kind' in detail ? Number(detail.kind) : -1;
}

function collectMemory(registry: Registry): void {
  const usage = memoryUsage();
  if (usage === undefined) return;
  const { rss, heapUsed, heapTotal, external, arrayBuffers } = usage;
  const kinds = { rss, heap_used: heapUsed, heap_total: heapTotal, external, array_buffers: arrayBuffers };
  for (const [kind, bytes] of Object.entries(kinds)) registry.sample('svc_memory_bytes', kind).value = bytes;
  registry.sample('process_resident_memory_bytes').value = rss;
}

/** Undefined without a free descriptor: Node reads a file. The gauges stay, and the other metrics are written. */
function memoryUsage(): NodeJS.MemoryUsage | undefined {
  try {
    return process.memoryUsage();
  } catch {
    return undefined;
  }
}

/** Only Linux shows the number of open descriptors and the limit; elsewhere these metrics are absent. */
function collectDescriptors(registry: Registry, { open, limit, exhaustedSeconds }: DescriptorCounts): void {
  if (open !== undefined) registry.sample('process_open_fds').value = open;
  if (limit !== undefined) registry.sample('process_max_fds').value = limit;
  registry.sample('svc_out_of_files_seconds_total').value = exhaustedSeconds;
}
