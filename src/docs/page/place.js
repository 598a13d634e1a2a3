// Runs in the browser before the viewer, and tells it where this gateway is reached: maybe below a path of a proxy.
// It must never name another machine.
{
  const page = document.getElementById('api-reference')
  const url = new URL('.', location.href).href.replace(/\/$/, '')
  const configuration = { ...JSON.parse(page.dataset.configuration), servers: [{ url }] }
  page.dataset.configuration = JSON.stringify(configuration)
}
