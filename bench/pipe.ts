// The baseline for the gateway: Bun's server and Bun's fetch with nothing between them. It must never inspect the data that it
// passes on.
const [port, vendorUrl] = process.argv.slice(2)

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  idleTimeout: 0,
  async fetch(request) {
    const target = vendorUrl + request.url.slice(request.url.indexOf('/', 8))
    const upstream = await fetch(target, {
      method: request.method,
      headers: request.headers,
      body: request.body === null ? null : await request.arrayBuffer(),
    })
    return new Response(upstream.body, { status: upstream.status, headers: upstream.headers })
  },
})
// The bench keeps a channel open to this process; if that breaks, the bench has ended and nobody else would stop this process.
process.on('disconnect', () => process.exit())
