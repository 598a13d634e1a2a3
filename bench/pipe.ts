// The floor that the gateway is compared with: Bun's server and Bun's fetch with nothing between them. It must never
// learn anything about what passes through.
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
// The bench keeps a channel open to this process; when that breaks the bench is gone and nobody is left to stop it.
process.on('disconnect', () => process.exit())
