// The usual way, as a process of its own: row arrays out of the Arrow batches, then JSON.stringify. LONG as Number;
// timestamps stay the numbers apache-arrow gives (formatting them as text would only cost it more).
import { readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';

const [file, repeats] = process.argv.slice(2);
const table = tableFromIPC(readFileSync(file));
const runs = [];
for (let run = 0; run < Number(repeats); run++) {
  const before = process.cpuUsage();
  const dataset = [];
  for (const batch of table.batches) {
    const columns = batch.schema.fields.map((_, i) => batch.getChildAt(i));
    for (let row = 0; row < batch.numRows; row++) {
      dataset.push(
        columns.map((column) => {
          const value = column.get(row);
          return typeof value === 'bigint' ? Number(value) : value;
        }),
      );
    }
  }
  const bytes = Buffer.byteLength(JSON.stringify({ dataset, count: dataset.length }));
  const { user, system } = process.cpuUsage(before);
  runs.push({ cpuMs: (user + system) / 1000, bytes });
}
process.stdout.write(JSON.stringify(runs));
