/** The handle of the sample data. */
export const SAMPLE_HANDLE = 'ticks';

/** A million made-up trades of four symbols over a day: a time, a text, numbers, and some nulls. */
export const SAMPLE_SQL = `with numbers as (
  select i, cast(hash(i) % 4 as integer) + 1 as nth, (hash(i * 7) % 1000) / 1000.0 - 0.5 as noise
  from range(1, 1000001) as r(i)
)
select
  i as id,
  timestamp '2026-01-05 00:00:00' + to_microseconds(i * 86400) as ts,
  ['BTC', 'ETH', 'SOL', 'ADA'][nth] as symbol,
  round([64000.0, 3200, 150, 0.6][nth]::double * (1 + 0.02 * sin(i / 90000) + 0.004 * sin(i / 4100) + 0.004 * noise), 4) as price,
  round(0.01 + (hash(i * 13) % 10000) / 800, 3) as size,
  case when hash(i * 3) % 2 = 0 then 'buy' else 'sell' end as side,
  case when hash(i * 5) % 50 > 0 then cast(hash(i * 11) % 9000 + 1000 as integer) end as trader
from numbers`;
