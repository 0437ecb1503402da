/** The handle of the sample data. */
export const SAMPLE_HANDLE = 'ticks';

/** A million made-up trades of a day: a time, texts, numbers, and some nulls. */
export const SAMPLE_SQL = `select
  i as id,
  timestamp '2026-01-05 00:00:00' + to_microseconds(i * 86400) as ts,
  ['Amsterdam', 'Frankfurt', 'London', 'Zurich'][cast(hash(i) % 4 as integer) + 1] as venue,
  round(100 + 6 * sin(i / 130000) + 2 * sin(i / 31000) + 0.7 * sin(i / 4100) + 0.3 * sin(i / 777)
    + (hash(i * 7) % 1000) / 2500, 2) as price,
  round(0.01 + (hash(i * 13) % 10000) * (hash(i * 17) % 10000) / 8000000, 3) as size,
  case when hash(i * 3) % 2 = 0 then 'buy' else 'sell' end as side,
  case when hash(i * 5) % 50 > 0 then cast(hash(i * 11) % 9000 + 1000 as integer) end as trader
from range(1, 1000001) as numbers(i)`;
