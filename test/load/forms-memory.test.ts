// Many large forms at once, for a vendor that reads them slowly: the memory of the gateway, here in its own process, must not grow
// with them.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { rssMb } from '../../bench/process-meter'
import { waitFor } from '../support/gateway'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'
import { CERTIFICATE_FILE, type FormVendor, startFormVendor } from '../support/vendors/form'

setDefaultTimeout(180_000)

const CALLERS = 30
const CALLERS_AT_A_TIME = 10
const FILE_BYTES = 20 * 1024 * 1024
const MAX_GROWTH_MB = 300

const edited = {
  created: 1_700_000_000,
  data: [{ b64_json: 'aGVsbG8=' }],
  usage: {
    input_tokens: 20,
    input_tokens_details: { text_tokens: 10, image_tokens: 10 },
    output_tokens: 100,
    total_tokens: 120,
  },
}

const vendors: Record<'http' | 'https', FormVendor> = {
  http: await startFormVendor({ held: true, pauseMs: 1, status: 200, json: edited }),
  https: await startFormVendor({ secure: true, held: true, pauseMs: 1, status: 200, json: edited }),
}
let installation: Installation
let server: Running
let secret: string
let image: Blob

beforeAll(async () => {
  const model = (upstream: string) => ({
    family: 'openai-image-edits',
    upstream,
    price: {
      per_1m_input_tokens: '1.00',
      per_1m_input_image_tokens: '1.00',
      per_1m_output_tokens: '1.00',
      per_1m_output_image_tokens: '1.00',
    },
  })
  const upstream = (protocol: 'http' | 'https') => ({
    kind: 'openai' as const,
    baseUrl: vendors[protocol].url,
    apiKey: null,
  })
  installation = await install({
    upstreams: { http: upstream('http'), https: upstream('https') },
    models: { 'test-http': model('http'), 'test-https': model('https') },
  })
  secret = await installation.makeKey('alice', '1000')
  server = await installation.serve({ environment: { NODE_EXTRA_CA_CERTS: CERTIFICATE_FILE } })
  const bytes = new Uint8Array(FILE_BYTES).fill(0x55)
  bytes.set(Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x04\0\0\0\x04\0', 'latin1'))
  image = new Blob([bytes], { type: 'image/png' })
})
afterAll(async () => {
  for (const vendor of Object.values(vendors)) vendor.stop()
  await stopWell(installation, server)
})

function edit(model: string): Promise<Response> {
  const form = new FormData()
  form.append('model', model)
  form.append('prompt', 'A lion, please.')
  form.append('image', image, 'lion.png')
  return fetch(`${server.url}/v1/images/edits`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}` },
    body: form,
  })
}

/** Files of uploads, in the folders of the processes. */
function uploaded(): string[] {
  const found = readdirSync(join(installation.dataDir, 'uploads'), { recursive: true, withFileTypes: true })
  return found.filter((entry) => entry.isFile()).map(({ name }) => name)
}

describe(`${CALLERS} forms of ${FILE_BYTES / 1024 / 1024} MiB at once`, () => {
  for (const protocol of ['http', 'https'] as const) {
    test(`are received and forwarded by ${protocol} in less than ${MAX_GROWTH_MB} MB`, async () => {
      const vendor = vendors[protocol]
      const before = rssMb(server.pid)
      let most = before
      const meter = setInterval(() => {
        most = Math.max(most, rssMb(server.pid))
      }, 20)
      const replies: Promise<Response>[] = []
      // On one machine the network is faster than any disk; real uploads are slower.
      while (replies.length < CALLERS) {
        replies.push(...Array.from({ length: CALLERS_AT_A_TIME }, () => edit(`test-${protocol}`)))
        await waitFor(() => vendor.requests === replies.length)
      }
      expect(vendor.requests).toBe(CALLERS)
      expect(uploaded()).toHaveLength(CALLERS)
      vendor.letGo()
      for (const reply of await Promise.all(replies)) {
        expect({ status: reply.status, body: await reply.json() }).toEqual({ status: 200, body: edited })
      }
      clearInterval(meter)
      expect(vendor.bodies).toHaveLength(CALLERS)
      expect(Math.min(...vendor.bodies)).toBeGreaterThan(FILE_BYTES)
      expect(most - before).toBeLessThan(MAX_GROWTH_MB)
      expect(uploaded()).toEqual([])
    })
  }
})
