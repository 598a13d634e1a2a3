// The hint for an unknown path: the path that is probably meant, by common words.

import { expect, test } from 'bun:test'
import { type Route, unrouted } from '../../src/http/routes/unrouted'

const routes: Route[] = [
  ['GET', '/'],
  ['GET', '/docs'],
  ['POST', '/mcp'],
  ['POST', '/v1/mcp'],
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/v1/chat/completions'],
  ['POST', '/v1/completions'],
  ['POST', '/v1/messages'],
  ['POST', '/v1/messages/count_tokens'],
  ['POST', '/v1/responses'],
  ['GET', '/v1/responses/:id'],
  ['POST', '/v1/audio/speech'],
  ['POST', '/v1/audio/transcriptions'],
  ['GET', '/v1/models'],
  ['GET', '/v1/models/*'],
  ['POST', '/v1/videos'],
  ['GET', '/v1/videos'],
  ['GET', '/v1/videos/:id'],
  ['GET', '/v1/videos/:id/content'],
  ['OPTIONS', '/v1/*'],
].map(([method = '', path = '']) => ({ method, path }))

const answerTo = (method: string, path: string) =>
  unrouted(routes, new Request(`http://gateway.example${path}`, { method }))

test.each([
  ['POST', '/chat/completions', 'POST /v1/chat/completions'],
  ['POST', '/v1/chat/completion', 'POST /v1/chat/completions'],
  ['POST', '/v1/Chat/Completions', 'POST /v1/chat/completions'],
  ['POST', '/completions', 'POST /v1/completions'],
  ['POST', '/openai/v1/responses', 'POST /v1/responses'],
  ['POST', '/v1/responses/resp_1/more', 'POST /v1/responses'],
  ['GET', '/responses/resp_1', 'GET /v1/responses/{id}'],
  ['POST', '/messages', 'POST /v1/messages'],
  ['POST', '/v1/message', 'POST /v1/messages'],
  ['POST', '/messages/count_tokens', 'POST /v1/messages/count_tokens'],
  ['GET', '/models', 'GET /v1/models'],
  ['GET', '/v1/model', 'GET /v1/models'],
  ['POST', '/v1/audio/transcribe', 'POST /v1/audio/transcriptions'],
  ['GET', '/v1/video', 'GET /v1/videos'],
  ['GET', '/v1/videos/1/2/content', 'GET /v1/videos/{id}/content'],
])('%s %s may mean %s', (method, path, meant) => {
  const { message } = answerTo(method, path)
  expect(message).toContain(`There is no ${method} ${new URL(path, 'http://x').pathname} here.`)
  expect(message).toContain(` Did you mean ${meant}?`)
  expect(message).toContain('/openapi.json')
})

test.each([
  ['files', '/v1/files'],
  ['batches', '/v1/batches'],
  ['the API of Ollama', '/api/tags'],
  ['assistants', '/v1/assistants'],
  ['a very long path', `/${'x'.repeat(5_000)}`],
] as const)('%s gets no hint', (_, path) => {
  const { status, message } = answerTo('POST', path)
  expect(status).toBe(404)
  expect(message).not.toContain('Did you mean')
  expect(message).toContain('/docs')
  expect(message.length).toBeLessThan(500)
})

test.each([
  ['POST', '/responses', 400],
  ['POST', '/v1/responses/compact/more', 400],
  ['POST', '/openai/responses', 400],
  ['GET', '/responses/resp_1', 404],
  ['POST', '/v1/responses_of_mine', 404],
  ['POST', '/chat/completions', 404],
] as const)(
  '%s %s is answered with %d, because clients of responses retry after a 404',
  (method, path, status) => {
    expect(answerTo(method, path)).toMatchObject({
      status,
      code: 'unknown_route',
      headers: { 'x-should-retry': 'false' },
    })
  },
)
