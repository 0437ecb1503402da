import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { DataType, type Decimal, Field, type Time } from 'apache-arrow';
import { childrenOf, typeOf, valueTypeOf } from '../../arrow-types.ts';
import { columnTypeName, EXTENSION_METADATA_KEY, UUID_EXTENSION } from '../../column-types.ts';

/** The maximum digits of a decimal, by its bits. */
const MAX_PRECISIONS: Readonly<Record<number, number>> = { 32: 9, 64: 18, 128: 38, 256: 76 };

/** The maximum digits after the decimal point, or zeros before it. */
const MAX_SCALE = 76;

/** A problem of a type, and the hint. */
interface TypeFault {
  readonly what: string;
  readonly hint: string;
}

/** Refuses invalid parameters of a type, and fixed-size binary of 0 bytes. */
export function checkFieldType(column: Field, field: Field = column): void {
  const fault = faultOfField(field);
  if (fault !== undefined) {
    const message = `Column ${quoted(column.name)} has a malformed Arrow type: ${fault.what}.`;
    throw new ServiceError('invalid_data', message, { hint: fault.hint });
  }
  const type = typeOf(field);
  const valueType = DataType.isDictionary(type) ? valueTypeOf(type) : type;
  if (DataType.isFixedSizeBinary(valueType) && valueType.byteWidth === 0) {
    const name = `${quoted(column.name)} ${type === column.type ? 'has' : 'contains'}`;
    const message = `Column ${name} the Arrow type fixed-size binary of 0 bytes, which this server does not support.`;
    throw new ServiceError('invalid_data', message, { hint: 'Cast it to binary.' });
  }
  for (const child of childrenOf(field)) checkFieldType(column, child);
}

function faultOfField(field: Field): TypeFault | undefined {
  const { metadata } = field;
  const type = typeOf(field);
  if (!DataType.isDictionary(type)) return faultOfType(type, metadata);
  const { bitWidth } = type.indices;
  if (![8, 16, 32, 64].includes(bitWidth)) {
    return {
      what: `the index of a dictionary has ${bitWidth} bits`,
      hint: 'Write the index as an integer of 8, 16, 32 or 64 bits.',
    };
  }
  return faultOfType(valueTypeOf(type), metadata);
}

function faultOfType(type: DataType, metadata: Field['metadata']): TypeFault | undefined {
  const isBytes = DataType.isFixedSizeBinary(type);
  if (metadata.get(EXTENSION_METADATA_KEY) === UUID_EXTENSION && !(isBytes && type.byteWidth === 16)) {
    const found = isBytes ? `of ${type.byteWidth}` : columnTypeName(new Field('', type));
    return {
      what: `a UUID is a fixed-size binary of 16 bytes, not ${found}`,
      hint: `Cast the column to fixed-size binary of 16 bytes, or remove "${UUID_EXTENSION}" from its metadata.`,
    };
  }
  if (isBytes && type.byteWidth < 0) {
    return {
      what: `a fixed-size binary has ${type.byteWidth} bytes`,
      hint: 'Give it a width of at least 1 byte, or write it as binary.',
    };
  }
  if (DataType.isFixedSizeList(type) && type.listSize < 0) {
    return {
      what: `a fixed-size list has ${type.listSize} items`,
      hint: 'Give it a size of at least 0, or write it as list.',
    };
  }
  if (DataType.isDecimal(type)) return faultOfDecimal(type);
  return DataType.isTime(type) ? faultOfTime(type) : faultOfUnit(type);
}

function faultOfUnit(type: DataType): TypeFault | undefined {
  if (DataType.isFloat(type) && ![0, 1, 2].includes(type.precision)) {
    return { what: 'a float of unknown precision', hint: 'Write it as float16, float32 or float64.' };
  }
  if (DataType.isDate(type) && ![0, 1].includes(type.unit)) {
    return { what: 'a date of an unknown unit', hint: 'Write it as date32 (days) or date64 (milliseconds).' };
  }
  if (DataType.isInterval(type) && ![0, 1, 2].includes(type.unit)) {
    return {
      what: 'an interval of an unknown unit',
      hint: 'Write it as months, as days and milliseconds, or as months, days and nanoseconds.',
    };
  }
  if ((DataType.isTimestamp(type) || DataType.isDuration(type)) && ![0, 1, 2, 3].includes(type.unit)) {
    return {
      what: 'a timestamp or duration of an unknown unit',
      hint: 'Write it in seconds, milliseconds, microseconds or nanoseconds.',
    };
  }
  return undefined;
}

function faultOfDecimal({ bitWidth, precision, scale }: Decimal): TypeFault | undefined {
  const digits = MAX_PRECISIONS[bitWidth];
  if (digits === undefined) {
    return {
      what: `a decimal has ${bitWidth} bits`,
      hint: `Write it as a decimal of ${Object.keys(MAX_PRECISIONS).join(', ')} bits.`,
    };
  }
  if (!(precision >= 1 && precision <= digits)) {
    return {
      what: `a decimal of ${bitWidth} bits has 1 to ${digits} digits, not ${precision}`,
      hint: precision > digits ? 'Write it as a decimal of more bits or fewer digits.' : 'Give it at least 1 digit.',
    };
  }
  if (Math.abs(scale) <= MAX_SCALE) return undefined;
  return {
    what: `a decimal has a scale of -${MAX_SCALE} to ${MAX_SCALE}, not ${scale}`,
    hint: 'Cast the column to a decimal with another scale, or to float64.',
  };
}

/** The seconds and milliseconds of a day fit in 32 bits; smaller units do not. */
function faultOfTime({ bitWidth, unit }: Time): TypeFault | undefined {
  const units = bitWidth === 32 ? [0, 1] : bitWidth === 64 ? [2, 3] : [];
  if (units.includes(unit)) return undefined;
  return {
    what: `a time of ${bitWidth} bits has the unit ${unit}`,
    hint: 'Write seconds and milliseconds (units 0 and 1) as time32, microseconds and nanoseconds (2 and 3) as time64.',
  };
}
