mod should_pop;
mod should_push;
