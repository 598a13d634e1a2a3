// A small S3-compatible store over real HTTP: objects by path, whole or in parts, ranges, and errors as XML.
// It checks that requests are signed, not the signatures themselves.

export interface ObjectStore {
  endpoint: string
  /** By bucket and key: `bucket/prefix/key`. */
  objects: Map<string, { bytes: Uint8Array; contentType: string | null }>
  /** Method, and what it did. */
  calls: string[]
  /** Answers every request with this error while it is set. */
  broken: boolean
  stop(): Promise<void>
}

export const storeKey = 'AKIATEST'

export function startObjectStore(): ObjectStore {
  const uploads = new Map<string, Map<number, Uint8Array>>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const key = pathname.slice(1)
      const bytes = await request.bytes()
      const upload = searchParams.get('uploadId')
      store.calls.push([request.method, ...(upload || searchParams.has('uploads') ? ['part'] : [])].join(' '))
      if (store.broken) return failure(503, 'ServiceUnavailable')
      if (!isSigned(request)) return failure(403, 'AccessDenied')
      switch (request.method) {
        case 'PUT':
          if (upload) uploads.get(upload)?.set(Number(searchParams.get('partNumber')), bytes)
          else store.objects.set(key, { bytes, contentType: request.headers.get('content-type') })
          return new Response(null, { headers: { etag: `"${Bun.hash(bytes)}"` } })
        case 'POST':
          return upload ? complete(key, upload) : begin(request)
        case 'DELETE':
          if (!upload) store.objects.delete(key)
          return new Response(null, { status: 204 })
        default:
          return read(request, key)
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

  function read(request: Request, key: string): Response {
    const object = store.objects.get(key)
    if (!object) return failure(404, 'NoSuchKey')
    const { bytes } = object
    if (request.method === 'HEAD')
      return new Response(null, { headers: { 'content-length': String(bytes.length) } })
    const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get('range') ?? '') ?? []
    if (start === undefined) return new Response(bytes)
    return new Response(bytes.slice(Number(start), Number(end) + 1), { status: 206 })
  }

  const types = new Map<string, string | null>()
  const store: ObjectStore = {
    endpoint: `http://127.0.0.1:${server.port}`,
    objects: new Map(),
    calls: [],
    broken: false,
    stop: () => server.stop(true),
  }
  return store
}

function isSigned({ headers }: Request): boolean {
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
