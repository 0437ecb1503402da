// Writes deploy/grafana/dashboard.json from the table below; with --check it only says whether the file is up to date. The
// builders of Grafana's SDK know the schema of a dashboard.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  DashboardBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { format } from 'prettier';

const file = fileURLToPath(new URL('../deploy/grafana/dashboard.json', import.meta.url));

/** Only the chosen instances. */
const I = 'instance=~"$instance"';
const R = '[$__rate_interval]';

/** A quantile of a histogram. */
const quantile = (q, metric, by, filter = '') =>
  `histogram_quantile(${q}, sum by (le, ${by}) (rate(${metric}_bucket{${I}${filter}}${R})))`;
const rate = (metric, by, filter = '') => `sum by (${by}) (rate(${metric}{${I}${filter}}${R}))`;

/** Rows of panels: title, unit, and the expressions with their legends. */
const ROWS = [
  [
    'Traffic and errors',
    [
      ['Requests by route', 'reqps', [rate('svc_requests_total', 'route'), '{{route}}']],
      ['Errors by code', 'reqps', [rate('svc_requests_total', 'code', ', code!="ok"'), '{{code}}']],
      ['Requests in flight', 'short', [`sum by (protocol) (svc_requests_in_flight{${I}})`, '{{protocol}}']],
      ['Connections', 'short', [`sum by (protocol) (svc_connections{${I}})`, '{{protocol}}']],
      [
        'Bytes of bodies',
        'Bps',
        [rate('svc_response_bytes_total', 'protocol'), 'sent, {{protocol}}'],
        [rate('svc_request_bytes_total', 'protocol'), 'received, {{protocol}}'],
      ],
      ['Ready', 'short', [`svc_ready{${I}}`, '{{instance}}']],
    ],
  ],
  [
    'Latency by route',
    [
      ['Median', 's', [quantile(0.5, 'svc_request_duration_seconds', 'route'), '{{route}}']],
      ['99 of 100', 's', [quantile(0.99, 'svc_request_duration_seconds', 'route'), '{{route}}']],
      ['First byte, 99 of 100', 's', [quantile(0.99, 'svc_first_byte_seconds', 'route'), '{{route}}']],
    ],
  ],
  [
    'SQL',
    [
      ['Statements by outcome', 'ops', [rate('svc_queries_total', 'engine, outcome'), '{{engine}} {{outcome}}']],
      [
        'Running and waiting',
        'short',
        [`sum by (engine) (svc_queries_running{${I}})`, '{{engine}} running'],
        [`sum by (engine) (svc_queries_queued{${I}})`, '{{engine}} waiting'],
      ],
      ['Wait, 95 of 100', 's', [quantile(0.95, 'svc_query_wait_seconds', 'engine'), '{{engine}}']],
      ['Duration, 95 of 100', 's', [quantile(0.95, 'svc_query_duration_seconds', 'engine'), '{{engine}}']],
      ['Processes of the engine', 'short', [`sum by (kind) (svc_engine_children{${I}})`, '{{kind}}']],
      ['Ended processes', 'ops', [rate('svc_engine_child_exits_total', 'kind, reason'), '{{kind}} {{reason}}']],
    ],
  ],
  [
    'Frames and disk',
    [
      ['Frames', 'short', [`sum by (tier) (svc_frames{${I}})`, '{{tier}}']],
      ['Bytes of frames', 'bytes', [`sum by (tier) (svc_frame_bytes{${I}})`, '{{tier}}']],
      ['Free space', 'bytes', [`svc_store_free_bytes{${I}}`, '{{instance}}']],
      ['Writes', 'ops', [rate('svc_frame_writes_total', 'kind'), '{{kind}}']],
      ['Rows written', 'rowsps', [rate('svc_frame_rows_written_total', 'kind'), '{{kind}}']],
      [
        'Frames that ended',
        'ops',
        [`sum(rate(svc_frames_expired_total{${I}}${R}))`, 'expired'],
        [`sum(rate(svc_frames_dropped_total{${I}}${R}))`, 'dropped'],
      ],
    ],
  ],
  [
    'Caches',
    [
      ['Bytes', 'bytes', [`sum by (cache) (svc_cache_bytes{${I}})`, '{{cache}}']],
      [
        'Hits',
        'percentunit',
        [
          `${rate('svc_cache_reads_total', 'cache', ', result="hit"')} / ${rate('svc_cache_reads_total', 'cache')}`,
          '{{cache}}',
        ],
      ],
    ],
  ],
  [
    'Time-series database',
    [
      ['Requests by outcome', 'reqps', [rate('svc_tsdb_requests_total', 'outcome'), '{{outcome}}']],
      ['Response, 95 of 100', 's', [quantile(0.95, 'svc_tsdb_request_duration_seconds', 'outcome'), '{{outcome}}']],
      ['Up, and connections', 'short', [`svc_tsdb_up{${I}}`, 'up'], [`svc_tsdb_connections{${I}}`, 'connections']],
    ],
  ],
  [
    'Process',
    [
      ['CPU', 'percentunit', [`rate(process_cpu_seconds_total{${I}}${R})`, '{{instance}}']],
      ['Memory', 'bytes', [`svc_memory_bytes{${I}}`, '{{kind}}'], [`process_resident_memory_bytes{${I}}`, 'resident']],
      ['Delay of the event loop', 's', [`svc_event_loop_delay_seconds{${I}}`, '{{q}}']],
      ['Garbage collection', 'percentunit', [rate('svc_gc_seconds_total', 'kind'), '{{kind}}']],
      ['Open files', 'short', [`process_open_fds{${I}}`, '{{instance}}']],
      ['Started', 'dateTimeAsIso', [`process_start_time_seconds{${I}} * 1000`, '{{instance}}']],
      ['Versions', 'short', [`count by (version, node) (svc_build_info{${I}})`, '{{version}} on Node {{node}}']],
    ],
  ],
];

const datasource = { type: 'prometheus', uid: '${datasource}' };

function panelOf([title, unit, ...targets]) {
  const panel = new PanelBuilder().title(title).unit(unit).min(0).datasource(datasource).span(8).height(7);
  for (const [expression, legend] of targets) {
    panel.withTarget(
      new DataqueryBuilder()
        .expr(expression)
        .legendFormat(legend)
        .refId(`Q${targets.findIndex(([one]) => one === expression)}`),
    );
  }
  return panel;
}

function buildDashboard() {
  const dashboard = new DashboardBuilder('svc')
    .uid('svc')
    .description('The data-frame server. docs/operating.md explains every metric.')
    .tags(['svc'])
    .refresh('30s')
    .time({ from: 'now-3h', to: 'now' })
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(
      new QueryVariableBuilder('instance')
        .label('Instance')
        .datasource(datasource)
        .query('label_values(svc_build_info, instance)')
        .refresh(VariableRefresh.OnDashboardLoad)
        .includeAll(true)
        .multi(true),
    );
  for (const [title, panels] of ROWS) {
    dashboard.withRow(new RowBuilder(title));
    for (const panel of panels) dashboard.withPanel(panelOf(panel));
  }
  return dashboard.build();
}

const text = await format(JSON.stringify(buildDashboard()), { parser: 'json', printWidth: 120 });
if (!process.argv.includes('--check')) writeFileSync(file, text);
else if (readFileSync(file, 'utf8') !== text) {
  console.error('deploy/grafana/dashboard.json is out of date: run npm run docs.');
  process.exit(1);
}
