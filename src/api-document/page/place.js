// Runs in the browser before the viewer, and gives it the address of this gateway, which may be below a path of a proxy.
// It must never name another machine.
{
  const page = document.getElementById('api-reference')
  const { gateway, ...configuration } = JSON.parse(page.dataset.configuration)
  const url = new URL(gateway, location.href).href.replace(/\/$/, '')
  page.dataset.configuration = JSON.stringify({ ...configuration, servers: [{ url }] })
}
