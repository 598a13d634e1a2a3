// The permitted destinations of webhooks: never the operator's own network, by any spelling, host name, changing DNS answer or
// redirect, and over TLS only the owner of the name in the address.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { faultsOf } from '../../src/config/schema'
import { openOrigin } from '../../src/http-client/origin'
import { type Lookup, resolveTarget } from '../../src/webhooks/address'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { play } from '../support/scenario'
import {
  AUTHORITY,
  HERE,
  openSecureSite,
  openSending,
  openSite,
  type SendingOptions,
  watchAddress,
} from '../support/servers/webhook-sending'

const PRIVATE = 'points to a private network'
const NO_URL = 'is not an http or https address'
const USER = 'must not have a user name or a password'
const PORT = 'webhooks go to the ports 80, 443, 8080 and 8443'
const UNKNOWN_NAME = 'has a host name that cannot be resolved'

/** Addresses of names. */
const names: Record<string, string[]> = {
  'public.example': ['93.184.215.14'],
  'private.example': ['10.1.2.3'],
  'mixed.example': ['93.184.215.14', '192.168.1.7'],
  'mixed-kinds.example': ['93.184.215.14', 'fd00::7'],
  'both.example': ['2606:2800:21f:cb07::1', '2606:2800:21f:cb07::2', '93.184.215.14', '93.184.215.15'],
  'wrapped.example': ['::ffff:10.0.0.1'],
  'nonsense.example': ['not an address'],
  localhost: ['127.0.0.1'],
}
const lookup: Lookup = async (host) => {
  const found = names[host]
  if (!found) throw new Error('ENOTFOUND')
  return found
}

/** Every spelling in WHATWG URLs of a private address, and texts that are not a web address at all. */
const refusedUrls: readonly (readonly [url: string, why: string])[] = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '0x7f000001',
    '0x7f.1',
    '2130706433',
    '017700000001',
    '0177.0.0.1',
    '%31%32%37.0.0.1',
    '１２７.０.０.１',
    '127。0。0。1',
    '127.0.0.1.',
    '0.0.0.0',
    '0',
    '10.0.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '192.0.0.192',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '[::]',
    '[::1]',
    '[::127.0.0.1]',
    '[::7f00:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::a00:1]',
    '[64:ff9b:1::a00:1]',
    '[2002:7f00:1::]',
    '[2002:a00:1::1]',
    '[2001:0:7f00:1::]',
    '[fc00::1]',
    '[fd00::1]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[fec0::1]',
    '[ff02::1]',
    '[100::1]',
    '[2001:db8::1]',
    '[4000::1]',
    'localhost',
    'localhost.',
    'LOCALHOST',
    'private.example',
    'mixed.example',
    'mixed-kinds.example',
    'wrapped.example',
    'nonsense.example',
  ].map((host) => [`http://${host}/hook`, PRIVATE] as const),
  ['http://user@public.example/', USER],
  ['http://:secret@public.example/', USER],
  ['http://public.example@127.0.0.1/', USER],
  ...[
    'file:///etc/passwd',
    'data:,x',
    's3://bucket/key',
    'ftp://public.example/',
    'gopher://public.example/',
  ].map((url) => [url, NO_URL] as const),
  ...['javascript:alert(1)', 'public.example', '//public.example/', '', ' ', 'http://', 'http://[::1'].map(
    (url) => [url, NO_URL] as const,
  ),
  ['http://public.example/\0', NO_URL],
  ['http://public.example/a\nb', NO_URL],
  ['http://[fe80::1%25eth0]/', NO_URL],
  ['http://256.1.1.1/', NO_URL],
  [`http://public.example/${'a'.repeat(2_048)}`, NO_URL],
  ...[22, 25, 6379, 1, 65535].map((port) => [`http://public.example:${port}/`, PORT] as const),
  ['http://gone.example/', UNKNOWN_NAME],
]

const titleOf = (url: string) => JSON.stringify(url.length > 60 ? `${url.slice(0, 57)}…` : url)

describe('an address is refused', () => {
  for (const [url, why] of refusedUrls) {
    test(titleOf(url), async () => {
      expect(await resolveTarget(url, { allow: [], lookup })).toEqual({
        refused: expect.stringContaining(why),
      })
    })
  }

  test('when its name server does not answer', async () => {
    const silent = { allow: [], lookup: () => new Promise<string[]>(() => {}), lookupTimeoutMs: 1 }
    expect(await resolveTarget('http://public.example/', silent)).toEqual({ refused: UNKNOWN_NAME })
  })
})

describe('an address is taken', () => {
  const rows: [url: string, addresses: string[], allow?: string[]][] = [
    ['https://public.example/hook?a=b#c', ['93.184.215.14']],
    ['http://public.example:8080', ['93.184.215.14']],
    ['https://public.example:8443/', ['93.184.215.14']],
    ['https://public.example:80/', ['93.184.215.14']],
    ['HTTPS://Public.Example./', ['93.184.215.14']],
    ['http://93.184.215.14/', ['93.184.215.14']],
    ['http://[2606:2800:21f:cb07::1]:8080/', ['2606:2800:21f:cb07::1']],
    // The first of each kind only, in the order of the look-up.
    ['http://both.example/', ['2606:2800:21f:cb07::1', '93.184.215.14']],
    ['http://10.1.2.3/', ['10.1.2.3'], ['10.0.0.0/8']],
    ['http://10.1.2.3:8123/', ['10.1.2.3'], ['192.168.0.0/16', '10.1.2.3/32']],
    ['http://private.example:9000/', ['10.1.2.3'], ['10.0.0.0/8']],
    ['http://[fd00::1]:9000/', ['fd00::1'], ['fd00::/8']],
    ['http://[::ffff:10.1.2.3]:9000/', ['::ffff:a01:203'], ['10.0.0.0/8']],
    ['http://mixed.example/', ['93.184.215.14'], ['192.168.0.0/16']],
    ['http://127.0.0.1:1/', ['127.0.0.1'], [HERE]],
  ]
  for (const [url, addresses, allow = []] of rows) {
    test(`${url}${allow.length > 0 ? ` where ${allow.join(' and ')} are allowed` : ''}`, async () => {
      expect(await resolveTarget(url, { allow, lookup })).toMatchObject({ addresses })
    })
  }

  test('only as far as is allowed', async () => {
    const rules = { allow: ['10.0.0.0/8', 'fd00::/8'], lookup }
    for (const [url, why] of [
      ['http://11.0.0.1:9000/', PORT],
      ['http://192.168.0.1/', PRIVATE],
      ['http://[fc00::1]/', PRIVATE],
      // An odd port is for allowed networks only, and here one of the two addresses is not of one.
      ['http://mixed.example:9000/', PORT],
    ] as const) {
      expect(await resolveTarget(url, rules)).toEqual({ refused: expect.stringContaining(why) })
    }
  })

  test('and a value that is not a network is a fault of the configuration', () => {
    const faults = (allow: unknown) => faultsOf({ webhooks: { allow }, upstreams: {}, models: {} })
    expect(faults(['10.0.0.0/8', '::1/128'])).toEqual([])
    for (const network of ['10.0.0.1', '10.0.0.0/33', 'home', '']) {
      expect(faults([network])).toEqual([
        `webhooks.allow: "${network}" is not a network such as "192.168.0.0/16"`,
      ])
    }
  })
})

describe('a submit', () => {
  const lookups: string[] = []
  let gateway: TestGateway
  beforeAll(async () => {
    const counted: Lookup = (host) => {
      lookups.push(host)
      return lookup(host)
    }
    gateway = await startTestGateway({ outside: { lookup: counted } })
  })
  afterAll(() => gateway.close())

  const body = { model: 'gkx-imagine-video', prompt: 'a cat' }
  for (const [url, why] of refusedUrls) {
    test(`a webhook to ${titleOf(url)} is refused before anything is held or sent`, async () => {
      await play(gateway, {
        name: url,
        path: '/v1/videos/generations',
        body: { ...body, webhook_url: url },
        status: 400,
        error: { code: 'invalid_value', type: 'invalid_request_error', param: 'webhook_url' },
        words: ["Invalid 'webhook_url': it ", why],
      })
    })
  }

  test('looks a name up once', async () => {
    lookups.length = 0
    const response = await gateway.post('/v1/videos/generations', {
      ...body,
      webhook_url: 'http://mixed.example/',
    })
    expect(response.status).toBe(400)
    expect(lookups).toEqual(['mixed.example'])
  })
})

describe('a webhook is sent', () => {
  /** Makes one delivery; returns its record. */
  async function deliverTo(url: string, options: SendingOptions) {
    const sending = await openSending('sqlite', options)
    const task = await sending.add(url)
    await sending.deliver()
    const { webhook, attempts } = await sending.of(task)
    await sending.close()
    return { state: webhook.state, attempt: attempts[0], fetched: sending.fetched }
  }

  test('to no forbidden address, even if it was allowed when the task was submitted', async () => {
    using watch = await watchAddress('127.0.0.1')
    for (const url of [
      'http://home.example',
      'http://127.0.0.1',
      'http://0x7f000001',
      'http://[::ffff:7f00:1]',
    ]) {
      const reported = await deliverTo(`${url}:${watch.port}/`, {
        allow: [],
        lookup: async () => ['127.0.0.1'],
      })
      expect(reported).toMatchObject({ state: 'pending', attempt: { status: null }, fetched: [] })
      expect(reported.attempt?.answer).toContain('The address has the port')
    }
    expect(watch.connections).toBe(0)
    // The watch would have noticed.
    await deliverTo(`http://home.example:${watch.port}/`, { lookup: async () => ['127.0.0.1'] })
    expect(watch.connections).toBe(1)
  })

  test('to the checked address, whatever the name resolves to a moment later', async () => {
    const port = await freePort()
    using watch = await watchAddress('::1', port)
    using site = await watchAddress('127.0.0.1', port)
    let lookups = 0
    const flips: Lookup = async () => (++lookups === 1 ? ['127.0.0.1'] : ['::1'])
    const url = `http://flip.example:${watch.port}/`
    const sending = await openSending('sqlite', { allow: ['127.0.0.1/32'], lookup: flips })
    const task = await sending.add(url)
    await sending.deliver()
    expect({ lookups, site: site.connections, watch: watch.connections }).toEqual({
      lookups: 1,
      site: 1,
      watch: 0,
    })
    expect((await sending.of(task)).webhook.state).toBe('delivered')
    // Each attempt is checked again.
    const second = await sending.add(url)
    await sending.deliver()
    expect({ lookups, site: site.connections, watch: watch.connections }).toEqual({
      lookups: 2,
      site: 1,
      watch: 0,
    })
    expect(sending.fetched).toEqual([`http://127.0.0.1:${watch.port}/`])
    expect((await sending.of(second)).attempts).toMatchObject([{ status: null }])
    await sending.close()
  })

  test('not to the target of a redirect', async () => {
    using watch = await watchAddress('127.0.0.1')
    for (const status of [301, 302, 303, 307, 308]) {
      using site = openSite(() => {
        const location = `http://127.0.0.1:${watch.port}/admin`
        return new Response(null, { status, headers: { location } })
      })
      const reported = await deliverTo(`http://127.0.0.1:${site.port}/`, {})
      expect(reported).toMatchObject({ state: 'pending', attempt: { status } })
    }
    expect(watch.connections).toBe(0)
  })

  test('with the path, the query, the port and the name of the address', async () => {
    using site = openSite()
    const { state, fetched } = await deliverTo(`http://Hook.Example:${site.port}/a%20b?c=d#e`, {
      lookup: async () => ['127.0.0.1'],
    })
    expect(state).toBe('delivered')
    expect(fetched).toEqual([`http://127.0.0.1:${site.port}/a%20b?c=d`])
    expect(site.received).toMatchObject([
      {
        method: 'POST',
        path: '/a%20b',
        headers: { host: `hook.example:${site.port}`, 'content-type': 'application/json' },
      },
    ])
    expect(site.received[0]?.headers.authorization).toBeUndefined()
  })

  test('to the other kind of address if the first does not accept connections', async () => {
    using site = openSite()
    const { state, fetched } = await deliverTo(`http://both.example:${site.port}/`, {
      allow: [HERE, '::1/128'],
      lookup: async () => ['::1', '127.0.0.1'],
    })
    expect(state).toBe('delivered')
    expect(fetched).toEqual([`http://[::1]:${site.port}/`, `http://127.0.0.1:${site.port}/`])
    expect(site.received).toHaveLength(1)
  })

  test('only once if the first address accepts it and does not answer', async () => {
    using watch = await watchAddress('127.0.0.1')
    using mute = Bun.listen({
      hostname: '::1',
      port: watch.port,
      socket: { data: (socket) => void socket.end() },
    })
    const { attempt, fetched } = await deliverTo(`http://both.example:${mute.port}/`, {
      allow: [HERE, '::1/128'],
      lookup: async () => ['::1', '127.0.0.1'],
    })
    expect(attempt?.status).toBeNull()
    expect(fetched).toHaveLength(1)
    expect(watch.connections).toBe(0)
  })

  test('nowhere if nothing listens, the name does not exist or its server is silent; the reason is logged', async () => {
    using site = openSite()
    const { port } = site
    site[Symbol.dispose]()
    const refused = await deliverTo(`http://127.0.0.1:${port}/`, {})
    expect(refused.attempt?.answer).toMatch(/ECONNREFUSED/)
    const gone = await deliverTo('http://gone.example/', { lookup })
    expect(gone.attempt).toMatchObject({ status: null, answer: `The address ${UNKNOWN_NAME}.` })
    const silent = await deliverTo('http://gone.example/', {
      lookup: () => new Promise(() => {}),
      lookupTimeoutMs: 1,
    })
    expect(silent.attempt).toMatchObject({ status: null, answer: `The address ${UNKNOWN_NAME}.` })
    for (const { state, fetched } of [gone, silent]) {
      expect({ state, fetched }).toEqual({ state: 'pending', fetched: [] })
    }
  })
})

describe('over TLS', () => {
  /** As `deliverTo`, with the tests' own authority, and several in turn on one pool of connections. */
  async function deliverAll(urls: string[], authority: string | undefined = AUTHORITY) {
    const sending = await openSending('sqlite', {
      lookup: async () => ['127.0.0.1'],
      transport: {
        open: (url, options) => openOrigin(url, { ...options, ...(authority && { tls: { ca: authority } }) }),
      },
    })
    const reported: { state: string; answer: string | undefined }[] = []
    for (const url of urls) {
      const task = await sending.add(url)
      await sending.deliver()
      const { webhook, attempts } = await sending.of(task)
      reported.push({ state: webhook.state, answer: attempts[0]?.answer })
    }
    expect(sending.fetched.every((url) => new URL(url).hostname === '127.0.0.1')).toBe(true)
    await sending.close()
    return reported
  }

  test('the certificate must be of the name, though the connection goes to an address', async () => {
    using site = await openSecureSite('one.example')
    const reported = await deliverAll([
      `https://one.example:${site.port}/`,
      `https://ONE.example.:${site.port}/`,
      `https://two.example:${site.port}/`,
      `https://127.0.0.1:${site.port}/`,
    ])
    expect(reported.map(({ state }) => state)).toEqual(['delivered', 'delivered', 'pending', 'pending'])
    for (const { answer } of reported.slice(2)) {
      expect(answer).toBe('The certificate of the receiver is of another name.')
    }
    expect(site.received.map(({ serverName, host }) => `${serverName} ${host}`)).toEqual([
      `one.example one.example:${site.port}`,
      `one.example one.example.:${site.port}`,
    ])
  })

  test('two names on one address never share a connection', async () => {
    using site = await openSecureSite('one.example', ['two.example'])
    const urls = ['one', 'two', 'one', 'two'].map((name) => `https://${name}.example:${site.port}/`)
    const reported = await deliverAll(urls)
    expect(reported.map(({ state }) => state)).toEqual(Array(4).fill('delivered'))
    const namesOf = new Map<number, Set<string>>()
    for (const { connection, serverName, host } of site.received) {
      expect(host).toBe(`${serverName}:${site.port}`)
      namesOf.set(connection, (namesOf.get(connection) ?? new Set()).add(host))
    }
    expect([...namesOf.values()].every(({ size }) => size === 1)).toBe(true)
    // Otherwise this would prove nothing: connections are kept and used again.
    expect(namesOf.size).toBe(2)
  })

  test('a pooled connection of one name serves no other name whose certificate is missing', async () => {
    using site = await openSecureSite('one.example')
    const reported = await deliverAll([
      `https://one.example:${site.port}/`,
      `https://two.example:${site.port}/`,
    ])
    expect(reported.map(({ state }) => state)).toEqual(['delivered', 'pending'])
    expect(site.received).toHaveLength(1)
  })

  test('an address without a name needs a certificate of the address', async () => {
    using site = await openSecureSite('address')
    const reported = await deliverAll([
      `https://127.0.0.1:${site.port}/`,
      `https://one.example:${site.port}/`,
    ])
    expect(reported.map(({ state }) => state)).toEqual(['delivered', 'pending'])
    expect(site.received).toEqual([
      { connection: expect.any(Number), serverName: false, host: `127.0.0.1:${site.port}` },
    ])
  })

  test('a receiver with an unknown certificate or without TLS gets nothing', async () => {
    using site = await openSecureSite('one.example')
    using plain = openSite()
    const reported = [
      ...(await deliverAll([`https://one.example:${site.port}/`], '')),
      ...(await deliverAll([`https://one.example:${plain.port}/`])),
    ]
    expect(reported.map(({ state }) => state)).toEqual(['pending', 'pending'])
    expect(reported[0]?.answer).toContain('unable to verify the first certificate')
    expect(reported[1]?.answer).toContain('TLS handshake failed')
    expect(site.received).toEqual([])
    expect(plain.received).toEqual([])
  })
})
