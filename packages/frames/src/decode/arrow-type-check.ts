import { quoted, ServiceError } from '@svc/errors';
import { DataType, type Decimal, type Field, type Time } from 'apache-arrow';

/** The digits that a decimal of so many bits can have. */
const MAX_PRECISIONS: Readonly<Record<number, number>> = { 32: 9, 64: 18, 128: 38, 256: 76 };

/** A decimal may have so many places after the point, or zeros before it. */
const MAX_SCALE = 76;

/** Refuses numbers inside of a type that the format can hold and no writer should write. */
export function checkFieldType(column: Field, field: Field = column): void {
  const fault = faultOf(field);
  if (fault !== undefined) {
    throw new ServiceError('invalid_data', `Column ${quoted(column.name)} has a malformed Arrow type: ${fault}.`);
  }
  const children: readonly Field[] = field.type.children ?? [];
  for (const child of children) checkFieldType(column, child);
}

function faultOf({ type, metadata }: Field): string | undefined {
  if (DataType.isDictionary(type) && ![8, 16, 32, 64].includes(type.indices.bitWidth)) {
    return `the index of a dictionary has ${type.indices.bitWidth} bits`;
  }
  const isBytes = DataType.isFixedSizeBinary(type);
  if (metadata.get('ARROW:extension:name') === 'arrow.uuid' && !(isBytes && type.byteWidth === 16)) {
    return 'a UUID is a fixed-size binary of 16 bytes';
  }
  if (isBytes && type.byteWidth < 1) return `a fixed-size binary has ${type.byteWidth} bytes`;
  if (DataType.isFixedSizeList(type) && type.listSize < 0) return `a fixed-size list has ${type.listSize} items`;
  return faultOfPlain(DataType.isDictionary(type) ? type.dictionary : type);
}

function faultOfPlain(type: DataType): string | undefined {
  if (DataType.isDecimal(type)) return faultOfDecimal(type);
  if (DataType.isTime(type)) return faultOfTime(type);
  if (DataType.isFloat(type)) return ![0, 1, 2].includes(type.precision) ? 'a float of unknown precision' : undefined;
  if (DataType.isDate(type)) return ![0, 1].includes(type.unit) ? 'a date of an unknown unit' : undefined;
  if (DataType.isInterval(type)) return ![0, 1, 2].includes(type.unit) ? 'an interval of an unknown unit' : undefined;
  if (DataType.isTimestamp(type) || DataType.isDuration(type)) {
    return ![0, 1, 2, 3].includes(type.unit) ? 'a timestamp or duration of an unknown unit' : undefined;
  }
  return undefined;
}

function faultOfDecimal({ bitWidth, precision, scale }: Decimal): string | undefined {
  const digits = MAX_PRECISIONS[bitWidth];
  if (digits === undefined) return `a decimal has ${bitWidth} bits`;
  if (!(precision >= 1 && precision <= digits)) {
    return `a decimal of ${bitWidth} bits has 1 to ${digits} digits, not ${precision}`;
  }
  return Math.abs(scale) > MAX_SCALE
    ? `a decimal has a scale of -${MAX_SCALE} to ${MAX_SCALE}, not ${scale}`
    : undefined;
}

/** Seconds and milliseconds of a day fit into 32 bits, smaller units do not. */
function faultOfTime({ bitWidth, unit }: Time): string | undefined {
  const units = bitWidth === 32 ? [0, 1] : bitWidth === 64 ? [2, 3] : [];
  return units.includes(unit) ? undefined : `a time of ${bitWidth} bits has the unit ${unit}`;
}
