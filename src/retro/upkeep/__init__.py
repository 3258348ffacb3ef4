"""Care for what is archived: verify and repair, restore, forget, coalesce, audit."""
