// A small S3-compatible store over real HTTP: objects by path, whole or in parts, ranges, and errors as XML. It checks that
// requests have a signature, not whether the signature is correct.

export interface ObjectStore {
  endpoint: string
  /** By bucket and key: `bucket/prefix/key`. */
  objects: Map<string, { bytes: Uint8Array; contentType: string | null }>
  /** The methods and the operations of all requests. */
  calls: string[]
  /** Reads wait for this promise. */
  reads: Promise<void> | undefined
  /** Removals wait for this promise. */
  removals: Promise<void> | undefined
  /** Bytes of objects sent to readers. */
  sentBytes: number
  /** While set, every request gets this error. */
  broken: boolean
  stop(): Promise<void>
}

export const storeKey = 'AKIATEST'
/** The only bucket that the store does not have. */
export const MISSING_BUCKET = 'missing'
const PIECE_BYTES = 64 * 1024
const LISTED = 3

export function startObjectStore(): ObjectStore {
  const uploads = new Map<string, Map<number, Uint8Array>>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const key = pathname.slice(1)
      const bytes = await request.bytes()
      const upload = searchParams.get('uploadId')
      store.calls.push([request.method, ...(upload || searchParams.has('uploads') ? ['part'] : [])].join(' '))
      if (store.broken) return failure(503, 'ServiceUnavailable')
      if (key.split('/')[0] === MISSING_BUCKET) return failure(404, 'NoSuchBucket')
      if (!isSigned(request)) return failure(403, 'AccessDenied')
      switch (request.method) {
        case 'PUT':
          if (upload) uploads.get(upload)?.set(Number(searchParams.get('partNumber')), bytes)
          else store.objects.set(key, { bytes, contentType: request.headers.get('content-type') })
          return new Response(null, { headers: { etag: `"${Bun.hash(bytes)}"` } })
        case 'POST':
          return upload ? complete(key, upload) : begin(request)
        case 'DELETE':
          await store.removals
          if (!upload) store.objects.delete(key)
          return new Response(null, { status: 204 })
        default:
          if (searchParams.has('list-type')) return list(store, key.replace(/\/$/, ''), searchParams)
          if (request.method === 'GET') await store.reads
          return read(store, request, key)
      }
    },
  })

  function begin(request: Request): Response {
    const id = crypto.randomUUID()
    uploads.set(id, new Map())
    types.set(id, request.headers.get('content-type'))
    return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`)
  }

  function complete(key: string, upload: string): Response {
    const parts = [...(uploads.get(upload) ?? [])].sort(([one], [other]) => one - other)
    if (parts.length === 0) return failure(404, 'NoSuchUpload')
    const bytes = new Uint8Array(Buffer.concat(parts.map(([, part]) => part)))
    store.objects.set(key, { bytes, contentType: types.get(upload) ?? null })
    return xml('<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>')
  }

  const types = new Map<string, string | null>()
  const store: ObjectStore = {
    endpoint: `http://127.0.0.1:${server.port}`,
    objects: new Map(),
    calls: [],
    reads: undefined,
    removals: undefined,
    sentBytes: 0,
    broken: false,
    stop: () => server.stop(true),
  }
  return store
}

/** One short page of a listing, so that readers have to request the next one. */
function list({ objects }: ObjectStore, bucket: string, query: URLSearchParams): Response {
  const from = query.get('start-after') ?? ''
  const keys = [...objects.keys()]
    .filter((key) => key.startsWith(`${bucket}/${query.get('prefix') ?? ''}`))
    .map((key) => key.slice(bucket.length + 1))
    .filter((key) => key > from)
    .sort()
  const page = keys.slice(0, LISTED)
  const contents = page.map((key) => `<Contents><Key>${key}</Key></Contents>`)
  return xml(
    `<ListBucketResult><Name>${bucket}</Name><IsTruncated>${keys.length > page.length}</IsTruncated>${contents.join('')}</ListBucketResult>`,
  )
}

function read(store: ObjectStore, request: Request, key: string): Response {
  const object = store.objects.get(key)
  if (!object) return failure(404, 'NoSuchKey')
  const { bytes } = object
  const count = (length: number) => {
    store.sentBytes += length
  }
  if (request.method === 'HEAD')
    return new Response(null, { headers: { 'content-length': String(bytes.length) } })
  const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get('range') ?? '') ?? []
  if (start === undefined) return new Response(streamed(bytes, count))
  return new Response(streamed(bytes.subarray(Number(start), Number(end) + 1), count), { status: 206 })
}

/** As fast as the reader takes it; `sent` counts the bytes. */
function streamed(bytes: Uint8Array, sent: (length: number) => void): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = bytes.slice(at, at + PIECE_BYTES)
        at += piece.length
        sent(piece.length)
        if (piece.length === 0) controller.close()
        else controller.enqueue(piece)
      },
    },
    { highWaterMark: 0 },
  )
}

/** Signed in its headers, or in its query, like addresses for other readers. */
function isSigned({ headers, method, url }: Request): boolean {
  const { searchParams } = new URL(url)
  if (method === 'GET' && searchParams.has('X-Amz-Signature')) {
    return (
      searchParams.get('X-Amz-Algorithm') === 'AWS4-HMAC-SHA256' &&
      searchParams.get('X-Amz-Credential')?.startsWith(`${storeKey}/`) === true &&
      searchParams.get('X-Amz-SignedHeaders') === 'host' &&
      Number(searchParams.get('X-Amz-Expires')) <= 300 &&
      /^[0-9a-f]{64}$/.test(searchParams.get('X-Amz-Signature') ?? '')
    )
  }
  const date = headers.get('x-amz-date') ?? ''
  const scope = new RegExp(
    `^AWS4-HMAC-SHA256 Credential=${storeKey}/${date.slice(0, 8)}/[a-z0-9-]+/s3/aws4_request, ?SignedHeaders=[a-z0-9;-]*host;[a-z0-9;-]+, ?Signature=[0-9a-f]{64}$`,
  )
  return (
    /^\d{8}T\d{6}Z$/.test(date) &&
    headers.has('x-amz-content-sha256') &&
    scope.test(headers.get('authorization') ?? '')
  )
}

function xml(text: string): Response {
  return new Response(`<?xml version="1.0" encoding="UTF-8"?>${text}`, {
    headers: { 'content-type': 'application/xml' },
  })
}

function failure(status: number, code: string): Response {
  return new Response(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`, {
    status,
    headers: { 'content-type': 'application/xml' },
  })
}
