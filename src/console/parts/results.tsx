// Pictures and players of what a request has made, where results are kept. Nothing is shown of a request that has none.

import { call, fileAddress } from '../api'
import { texts } from '../texts'
import { useLoaded } from './loaded'

const words = texts.results

export function Results({ charge, isEnded }: { charge: string; isEnded: boolean }) {
  const load = useLoaded((signal) => call('listArtifacts', { query: { charge }, signal }), [charge, isEnded])
  const artifacts = load.data?.data ?? []
  if (artifacts.length === 0) return null
  return (
    <div class="results">
      {artifacts.map(({ id, content_type: type, bytes }) => {
        const address = fileAddress('getArtifactContent', { params: { artifact: id } })
        return (
          <figure key={id}>
            {type.startsWith('image/') && <img src={address} alt={words.picture} loading="lazy" />}
            {type.startsWith('video/') && (
              <video src={address} controls preload="metadata" aria-label={words.video} />
            )}
            {type.startsWith('audio/') && (
              <audio src={address} controls preload="metadata" aria-label={words.sound} />
            )}
            <figcaption>
              <a href={address} download>
                {words.file(type, bytes)}
              </a>
            </figcaption>
          </figure>
        )
      })}
    </div>
  )
}
