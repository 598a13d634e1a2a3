// Pictures and players for results of requests, if results are stored: for operators those of one request, for holders of keys
// their own. Nothing is shown for a request without results.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { call, fileAddress, urlOf } from '../api'
import type { OwnArtifact } from '../key-api'
import { decimalText } from '../language'
import { useQuery } from '../query'
import { texts } from '../texts'
import { Dialog } from './form'
import { Time } from './time'

const words = texts.results

/** The stored results of a charge, for operators. */
export function Results({ charge, isEnded }: { charge: string; isEnded: boolean }) {
  const load = useQuery(['results', charge, isEnded], (signal) =>
    call('listArtifacts', { query: { charge }, signal }),
  )
  const artifacts = load.data?.data ?? []
  if (artifacts.length === 0) return null
  return (
    <div class="results">
      {artifacts.map(({ id, content_type, bytes, expires_at }) => (
        <Result
          key={id}
          type={content_type}
          bytes={bytes}
          expiresAt={expires_at}
          address={fileAddress('getArtifactContent', { params: { artifact: id } })}
        />
      ))}
    </div>
  )
}

interface OwnResultsProps {
  artifacts: readonly OwnArtifact[]
  /** Additional text for each. */
  more?(artifact: OwnArtifact): ComponentChildren
  /** Text below an enlarged picture. */
  about?(artifact: OwnArtifact): ComponentChildren
}

/** Stored results for the holder of a key. */
export function OwnResults({ artifacts, more, about }: OwnResultsProps) {
  if (artifacts.length === 0) return null
  return (
    <div class="results">
      {artifacts.map((artifact) => (
        <Result
          key={artifact.id}
          type={artifact.content_type}
          bytes={artifact.bytes}
          expiresAt={artifact.expires_at}
          // The signature of the URL, at the address of this page: the gateway cannot see the path of a proxy.
          address={urlOf(`v1/artifacts/${artifact.id}${new URL(artifact.url).search}`)}
          about={about?.(artifact)}
        >
          {more?.(artifact)}
        </Result>
      ))}
    </div>
  )
}

interface ResultProps {
  type: string
  bytes: number
  expiresAt: string | null
  address: string
  about?: ComponentChildren
  children?: ComponentChildren
}

function Result({ type, bytes, expiresAt, address, about, children }: ResultProps) {
  const [isLarge, setLarge] = useState(false)
  return (
    <figure>
      {type.startsWith('image/') && (
        <button type="button" class="plain picture" aria-label={words.enlarge} onClick={() => setLarge(true)}>
          <img src={address} alt={words.picture} loading="lazy" />
        </button>
      )}
      {isLarge && (
        <Dialog title={words.picture} close={() => setLarge(false)} closing={texts.close}>
          <img class="large" src={address} alt={words.picture} />
          {about}
        </Dialog>
      )}
      {type.startsWith('video/') && (
        <video src={address} controls preload="metadata" aria-label={words.video} />
      )}
      {type.startsWith('audio/') && (
        <audio src={address} controls preload="metadata" aria-label={words.sound} />
      )}
      <figcaption>
        {children}
        <a href={address} download>
          {words.file(type, sizeText(bytes))}
        </a>
        <span class="quiet">
          {words.until} <Time at={expiresAt} />
        </span>
      </figcaption>
    </figure>
  )
}

function sizeText(bytes: number): string {
  return bytes < 1e6 ? `${decimalText(bytes / 1e3, 1)} KB` : `${decimalText(bytes / 1e6, 2)} MB`
}
