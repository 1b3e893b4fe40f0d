"""Vaults that follow folders: what tests compare of them."""

from septet import Vault


def picture(vault):
    """What follows from the disk alone."""
    chunks = {e.id: e for e in vault if e.kind == "chunk"}
    place = {i: (e.span.path, e.span.first_line, e.span.last_line, e.description) for i, e in chunks.items()}
    links = ((place[x.source], place[x.target], x.type) for i in chunks for x in vault.links(i) if x.source == i)
    return sorted((*place[i], e.title, e.context, str(e.attrs)) for i, e in chunks.items()), sorted(links)


def fresh(folder, **options):
    with Vault(":memory:") as other:
        other.sync(folder, **options)
        return picture(other)


def paths(vault):
    return sorted({e.span.path for e in vault})


def ids(vault):
    return sorted((e.id, e.parent, e.span, e.description) for e in vault)


def chunks(vault):
    """What chunks are, also when the vault has other entries."""
    return sorted((e.id, e.parent, e.span, e.description) for e in vault if e.kind == "chunk")
