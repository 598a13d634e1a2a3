// The part of the configuration that names a bucket of an S3-compatible store. Its keys must never be quoted.

import { type Static, Type } from '@sinclair/typebox'
import { closed } from '../lib/setting'

const Text = Type.String({ minLength: 1 })
/** Undefined, like an unset environment variable. */
const Secret = Type.Optional(Type.Union([Text, Type.Undefined()]))

export const BucketEntry = Type.Object(
  {
    bucket: Text,
    /** The address of the store: `https://s3.eu-central-1.amazonaws.com`, `http://minio:9000`. */
    endpoint: Type.String({ pattern: '^https?://' }),
    region: Text,
    accessKeyId: Secret,
    secretAccessKey: Secret,
    prefix: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9._/-]*$' })),
  },
  closed,
)

/** Faults that the schema cannot express, of an entry at a place such as `artifacts.s3`. */
export function bucketFaults(place: string, entry: Static<typeof BucketEntry> | undefined): string[] {
  if (!entry) return []
  return (['accessKeyId', 'secretAccessKey'] as const)
    .filter((name) => entry[name] === undefined)
    .map((name) => `${place}.${name}: missing; is its environment variable set?`)
}
