import { expect, test } from 'bun:test'
import { databaseKinds } from './support/databases'
import { say, startTestGateway } from './support/gateway'

for (const database of databaseKinds) {
  test(`smoke ${database}`, async () => {
    const gateway = await startTestGateway({ database })
    const reply = await gateway.chat()
    expect(reply.status).toBe(200)
    const stream = await gateway.chat({ stream: true, messages: say('[sandbox tokens=50 cut_after=10]') })
    console.log((await stream.text()).slice(-300))
    console.log(await gateway.charges(), await gateway.journal())
    for (const model of ['text-embedding-v4', 'gmx-embedding-001', 'vgx-4', 'test-embedding']) {
      const r = await gateway.post('/v1/embeddings', {
        model,
        input: Array.from({ length: 25 }, (_, i) => `t ${i}`),
        encoding_format: 'base64',
      })
      const j = (await r.json()) as any
      console.log(
        model,
        r.status,
        r.status === 200 ? [j.data.length, j.data[24].index, j.data[0].embedding.slice(0, 20), j.usage] : j,
      )
    }
    for (const model of ['test-dashscope', 'test-xai', 'test-google', 'test-reasoning', 'test-local']) {
      const r = await gateway.chat({ model, temperature: 0.3 })
      console.log(model, r.status, ((await r.json()) as any).usage)
    }
    await gateway.close()
  })
}
