// An S3-compatible store, for everything that stores files in one. Its refusals must be reported in its own words and with its
// address: Bun's errors have no stack, and name neither the bucket nor the endpoint.

import { S3Client, type S3File } from 'bun'
import { lineOf } from '../lib/error-line'

export interface Bucket {
  bucket: string
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** Prefix of the id: `gateway/`. */
  prefix?: string
}

/** A place for files is unusable. The message says which, and why, without any secret. */
export class StorageFailed extends Error {
  override readonly name = 'StorageFailed'
}

/** Bun's message for anything that has no message of its own. */
const NO_REASON = 'an unexpected error has occurred'
const MAX_REASON_LENGTH = 300

export class S3Store {
  private readonly client: S3Client
  private readonly prefix: string
  private readonly title: string

  constructor({ prefix = '', ...connection }: Bucket) {
    this.client = new S3Client(connection)
    this.prefix = prefix
    this.title = `The bucket ${connection.bucket} at ${connection.endpoint}`
  }

  has(name: string): Promise<boolean> {
    return this.explained(this.file(name).exists())
  }

  async put(path: string, name: string, options: Bun.S3Options): Promise<void> {
    await this.explained(this.file(name).write(Bun.file(path), options))
  }

  async bring(name: string, path: string): Promise<void> {
    await this.explained(Bun.write(path, new Response(this.file(name).stream())))
  }

  async remove(name: string): Promise<void> {
    await this.explained(this.file(name).delete())
  }

  /** Names that begin with a text, in order. */
  async names(beginning: string): Promise<string[]> {
    const names: string[] = []
    let startAfter: string | undefined
    for (;;) {
      const query = { prefix: this.prefix + beginning, ...(startAfter && { startAfter }) }
      const page = await this.explained(this.client.list(query))
      const keys = (page.contents ?? []).map(({ key }) => key)
      names.push(...keys.map((key) => key.slice(this.prefix.length)))
      startAfter = keys.at(-1)
      if (!page.isTruncated || startAfter === undefined) return names.sort()
    }
  }

  /** A URL at which anybody can read a file for a while. */
  addressOf(name: string, seconds: number): URL {
    return new URL(this.file(name).presign({ method: 'GET', expiresIn: seconds }))
  }

  private file(name: string): S3File {
    return this.client.file(this.prefix + name)
  }

  private explained<Result>(work: Promise<Result>): Promise<Result> {
    return work.catch((error) => {
      if (!(error instanceof Error) || error.name !== 'S3Error') throw error
      throw new StorageFailed(`${this.title} cannot be used: ${reasonOf(error)}.`, { cause: error })
    })
  }
}

/** The store's message, or why there was no answer: `NoSuchBucket: The specified bucket does not exist`. */
function reasonOf(error: Error & { code?: string }): string {
  const { code = 'no reason' } = error
  if (error.message !== NO_REASON) return `${code}: ${lineOf(error).slice(0, MAX_REASON_LENGTH)}`
  return code === 'UnknownError' ? 'it answered with an error and no reason' : `no answer (${code})`
}
