(* Rules about matrix exponentials in proofs of identities: where the functions of which nothing else is known are exponentials.

   A proof is a row of links, each of which adds an equation to those that are known: a step of Rules.v, or a rule about
   exponentials.  Where the function with number k of the table is `Arbitrary i`, the theorem says that it is the exponential of a
   matrix whose rows have i indices, as many as its columns. *)
From Coq Require Import ZArith NArith.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Calculus Inverses Tables Slopes Statements Claims.
From Attention Require Import Exponentials.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* the exponential of the matrix in the last indices, k of rows and as many of columns; those before number matrices *)
Definition exponentials (R : realType) (k : nat) (ns : seq nat) (f : seq nat -> R) (xs : seq nat) : R :=
  let m := (size ns - (k + k))%N in
  exponential_of (take k (drop m ns)) (fun us vs => f (take m xs ++ us ++ vs)) (take k (drop m xs)) (drop (m + k) xs).

Inductive link :=
| Known of step
| Intertwined of nat & nat & nat & seq index & seq index & seq index & seq index & seq index & proof
  (* exp(M) A = A exp(N) where M A = A N; A has indices of its own, of rows and of columns; two rows of names for products *)
| Fixes of nat & nat & seq index & seq index & seq index & proof     (* exp(M) v = v where M v = 0 *)
| Opposite of nat & nat & seq index & proof                          (* exp(M) exp(-M) = I *)
| Transposed of nat & nat & proof.                                   (* exp(M^T) is exp(M)^T *)

Section Derive.
Variables (T : table) (given : seq condition).

(* the number of indices of rows, of the exponential of a matrix that is no family of matrices *)
Definition exponent (n : node) : option nat :=
  if function n is Arbitrary i then if square i n then Some i else None else None.
Definition rows_of i (n : node) := take i (slots n).
Definition columns_of i (n : node) := drop i (slots n).
(* names for one product, of the sizes of these indices, which stand nowhere else *)
Definition named_for (ws vs others : seq index) := [&& uniq ws, sizes ws == sizes vs & disjoint others ws].

Definition derive_link (known : seq equation) (l : link) : option equation :=
  let provided (b : bool) h := if b then Some h else None in
  match l with
  | Known s => derive T given known s
  | Intertwined k l a os rows columns ws vs p =>
    if find T k is Some m then if find T l is Some n then if exponent m is Some i then if exponent n is Some j then
      if instance (slots m) (rows ++ ws) (argument m) is Some e then
      if instance (slots n) (vs ++ columns) (argument n) is Some g then
        provided [&& named_for rows (rows_of i m) os, named_for columns (rows_of j n) (os ++ rows),
                  named_for ws (rows_of i m) (os ++ rows ++ columns), named_for vs (rows_of j n) (os ++ rows ++ columns)
                & shown known (Sums ws (Mul e (Entry a (os ++ ws ++ columns))), Sums vs (Mul (Entry a (os ++ rows ++ vs)) g)) p]
          (Sums ws (Mul (Entry k (rows ++ ws)) (Entry a (os ++ ws ++ columns))),
           Sums vs (Mul (Entry a (os ++ rows ++ vs)) (Entry l (vs ++ columns))))
      else None else None else None else None else None else None
  | Fixes k a os rows ws p =>
    if find T k is Some m then if exponent m is Some i then
      if instance (slots m) (rows ++ ws) (argument m) is Some e then
        provided [&& named_for rows (rows_of i m) os, named_for ws (rows_of i m) (os ++ rows)
                & shown known (Sums ws (Mul e (Entry a (os ++ ws))), Int 0) p]
          (Sums ws (Mul (Entry k (rows ++ ws)) (Entry a (os ++ ws))), Entry a (os ++ rows))
      else None else None else None
  | Opposite k l ws p =>
    if find T k is Some m then if find T l is Some n then if exponent m is Some i then
      provided [&& head_eq (function n) (function m), slots n == slots m, named_for ws (rows_of i m) (slots m)
              & shown known (Add (argument m) (argument n), Int 0) p]
        (Sums ws (Mul (Entry k (rows_of i m ++ ws)) (Entry l (ws ++ columns_of i m))),
         deltas_between (rows_of i m) (columns_of i m))
    else None else None else None
  | Transposed k l p =>
    if find T k is Some m then if find T l is Some n then if exponent m is Some i then
      if instance (slots m) (columns_of i m ++ rows_of i m) (argument m) is Some e then
        provided [&& head_eq (function n) (function m), slots n == slots m & shown known (argument n, e) p]
          (this l n, Entry k (columns_of i m ++ rows_of i m))
      else None else None else None else None
  end.
Fixpoint derive_links (known : seq equation) (ls : seq link) : option (seq equation) := match ls with
  | [::] => Some known
  | l :: ls' => if derive_link known l is Some h then derive_links (rcons known h) ls' else None end.
Definition proves_by_links (known : seq equation) (ls : seq link) (h : equation) (p : proof) : bool :=
  if derive_links known ls is Some all_known then shown all_known h p else false.
End Derive.

Section Real.
Variable R : realType.
Variable size_of : nat -> nat.
Hypothesis sizes_positive : forall s, (0 < size_of s)%N.
Variable scalar : nat -> R.
Hypothesis scalars_positive : forall n, 0 < scalar n.
Variables (T : table) (given : seq condition) (input : nat -> seq nat -> R).
Hypothesis T_formed : well_formed T.
Local Notation en := (entries_of size_of scalar (@exponentials R) T input).
Local Notation val := (meaning size_of scalar en).
Local Notation true_eq := (holds size_of (power size_of scalar) en).
Local Notation ok := (valid size_of).
Local Notation bounds n := (lengths size_of (slots n)).
Local Notation lens vs := (lengths size_of vs).
Local Notation arg := (argument_value size_of scalar (@exponentials R) T input).
Hypothesis given_hold : forall c, List.In c given -> condition_holds size_of scalar (@exponentials R) T input c.

(* the argument of an exponential as a matrix *)
Definition matrix_of (n : node) (us vs : seq nat) : R := cut (bounds n) (arg n) (us ++ vs).
Lemma matrix_bounded n : bounded (matrix_of n).
Proof.
exists (total (bounds n) (fun xs => `|arg n xs|)) => us vs; rewrite /matrix_of /cut total_places.
case: ifP => w; last by rewrite normr0 sumr_ge0.
rewrite (bigD1_seq (us ++ vs)) ?mem_places ?places_uniq //= ler_addl.
by rewrite sumr_ge0.
Qed.
Lemma exponentP n i : exponent n = Some i ->
  [/\ function n = Arbitrary i, size (slots n) = (i + i)%N & sizes (rows_of i n) = sizes (columns_of i n)].
Proof.
rewrite /exponent; case S: (function n) => [|||?|?|?|?||j] //; case: ifP => // /andP[/eqP sz /eqP sq] [<-].
by split; rewrite // /rows_of /columns_of /sizes map_take map_drop.
Qed.
Lemma bounds_split n i : exponent n = Some i -> bounds n = lens (rows_of i n) ++ lens (columns_of i n).
Proof. by move=> _; rewrite -map_cat cat_take_drop. Qed.
Lemma sizes_size vs us : sizes vs = sizes us -> size vs = size us.
Proof. by move=> E; rewrite -(size_map snd vs) -(size_map snd us) -/(sizes _) E. Qed.
Lemma rows_size n i : exponent n = Some i -> size (rows_of i n) = i.
Proof. by move=> /exponentP[_ sz _]; rewrite size_takel // sz leq_addr. Qed.

Lemma exponential_value k n i us vs r : find T k = Some n -> exponent n = Some i -> size us = i ->
  val r (Entry k (us ++ vs)) = exponential_of (lens (rows_of i n)) (matrix_of n) (map r us) (map r vs).
Proof.
move=> F X su; have [S sz _] := exponentP X.
rewrite (entry_value _ _ _ _ T_formed _ _ F) S /= /exponentials size_lengths sz subnn drop0 take0 add0n map_cat.
by rewrite drop0 take_size_cat ?drop_size_cat ?size_map //; congr (exponential_of _ _ _ _); rewrite /lengths map_take.
Qed.
Lemma matrix_value k n us vs e r : find T k = Some n -> instance (slots n) (us ++ vs) (argument n) = Some e -> ok r ->
  val r e = matrix_of n (map r us) (map r vs).
Proof. by move=> F I rV; rewrite (argument_instance _ _ _ T_formed F I rV) map_cat. Qed.
Lemma map_apart ws ys r vs : disjoint vs ws -> map (assigned ws ys r) vs = map r vs.
Proof. by move=> /allP D; apply/eq_in_map => w /D; exact: assigned_notin. Qed.
Lemma disjoint_cat us vs ws : disjoint (us ++ vs) ws = disjoint us ws && disjoint vs ws. Proof. exact: all_cat. Qed.
Lemma named_lens ws vs others : named_for ws vs others -> lens ws = lens vs.
Proof. by case/and3P => _ /eqP E _; exact: lengths_sizes. Qed.
Lemma named_map ws vs others ys r : named_for ws vs others -> within (lens vs) ys -> map (assigned ws ys r) ws = ys.
Proof.
move=> N w; have E := named_lens N; case/and3P: N => un _ _; apply: assigned_map => //.
by rewrite (within_size w) -E size_lengths.
Qed.
Lemma named_apart ws vs others ys r : named_for ws vs others -> map (assigned ws ys r) others = map r others.
Proof. by case/and3P => _ _; exact: map_apart. Qed.
Lemma named_valid ws vs others ys r : named_for ws vs others -> ok r -> within (lens vs) ys -> ok (assigned ws ys r).
Proof. by move=> N rV w; apply: assigned_valid => //; rewrite (named_lens N). Qed.
(* a sum over the names of a product *)
Lemma named_sum ws vs others a b r (f g : seq nat -> R) : named_for ws vs others ->
  (forall ys, within (lens vs) ys -> val (assigned ws ys r) a = f ys /\ val (assigned ws ys r) b = g ys) ->
  val r (Sums ws (Mul a b)) = total (lens vs) (fun ys => f ys * g ys).
Proof.
move=> N H; rewrite sums_total (named_lens N); apply: total_eq => ys w; have [A B] := H ys w.
by rewrite -[LHS]/(val _ a * val _ b) A B.
Qed.
Lemma map_parts (r r' : environment) us vs : map r' (us ++ vs) = map r (us ++ vs) -> map r' us = map r us /\ map r' vs = map r vs.
Proof.
rewrite !map_cat => /eqP; rewrite eqseq_cat ?size_map // => /andP[/eqP -> /eqP ->].
by [].
Qed.

Lemma intertwined_right k l a os rows columns ws vs m n i j e g :
  find T k = Some m -> find T l = Some n -> exponent m = Some i -> exponent n = Some j ->
  instance (slots m) (rows ++ ws) (argument m) = Some e -> instance (slots n) (vs ++ columns) (argument n) = Some g ->
  named_for rows (rows_of i m) os -> named_for columns (rows_of j n) (os ++ rows) ->
  named_for ws (rows_of i m) (os ++ rows ++ columns) -> named_for vs (rows_of j n) (os ++ rows ++ columns) ->
  true_eq (Sums ws (Mul e (Entry a (os ++ ws ++ columns))), Sums vs (Mul (Entry a (os ++ rows ++ vs)) g)) ->
  true_eq (Sums ws (Mul (Entry k (rows ++ ws)) (Entry a (os ++ ws ++ columns))),
           Sums vs (Mul (Entry a (os ++ rows ++ vs)) (Entry l (vs ++ columns)))).
Proof.
move=> Fm Fn Xm Xn Im In Nr Nc Nw Nv E; apply: to_holds => r rV.
pose A us ws' := en a (map r os ++ us ++ ws').
have size_of_names ws' n' i' o : named_for ws' (rows_of i' n') o -> exponent n' = Some i' -> size ws' = i'.
  by case/and3P => _ /eqP /sizes_size -> _ /rows_size.
have kept ws' vs' ys r' : named_for ws' vs' (os ++ rows ++ columns) ->
    [/\ map (assigned ws' ys r') os = map r' os, map (assigned ws' ys r') rows = map r' rows
      & map (assigned ws' ys r') columns = map r' columns].
  move=> N; have /map_parts[-> /map_parts[-> ->]] := named_apart ys r' N.
  by [].
rewrite (@named_sum ws (rows_of i m) (os ++ rows ++ columns) _ _ r
  (exponential_of (lens (rows_of i m)) (matrix_of m) (map r rows)) (fun zs => A zs (map r columns))) //; last first.
  move=> ys w; have [Eo Er Ec] := kept _ _ ys r Nw.
  rewrite (exponential_value _ _ Fm Xm (size_of_names _ _ _ _ Nr Xm)) Er (named_map _ Nw w); split=> //.
  by rewrite /meaning /= !map_cat Eo Ec (named_map _ Nw w).
rewrite (@named_sum vs (rows_of j n) (os ++ rows ++ columns) _ _ r (fun zs => A (map r rows) zs)
  (fun zs => exponential_of (lens (rows_of j n)) (matrix_of n) zs (map r columns))) //; last first.
  move=> ys w; have [Eo Er Ec] := kept _ _ ys r Nv.
  rewrite (exponential_value _ _ Fn Xn (size_of_names _ _ _ _ Nv Xn)) Ec (named_map _ Nv w); split=> //.
  by rewrite /meaning /= !map_cat Eo Er (named_map _ Nv w).
have wr : within (lens (rows_of i m)) (map r rows) by rewrite -(named_lens Nr); exact: valid_within.
have wc : within (lens (rows_of j n)) (map r columns) by rewrite -(named_lens Nc); exact: valid_within.
apply: (exponential_intertwined (matrix_bounded m) (matrix_bounded n) _ wr wc) => us us' wu wu'.
pose r1 := assigned rows us r; pose r2 := assigned columns us' r1.
have r1V : ok r1 by exact: named_valid Nr rV wu.
have r2V : ok r2 by exact: named_valid Nc r1V wu'.
have /map_parts[o2 r2rows] := named_apart us' r1 Nc.
have o1 : map r1 os = map r os by exact: named_apart Nr.
have o2' : map r2 os = map r os by rewrite o2.
have r2r : map r2 rows = us by rewrite r2rows; exact: named_map Nr wu.
have r2c : map r2 columns = us' by exact: named_map Nc wu'.
have := of_holds E r2V.
rewrite (@named_sum ws (rows_of i m) (os ++ rows ++ columns) _ _ r2 (matrix_of m us) (fun zs => A zs us')) //; last first.
  move=> ys w; have [Eo Er Ec] := kept _ _ ys r2 Nw; have rV' := named_valid Nw r2V w.
  rewrite (matrix_value Fm Im rV') Er (named_map _ Nw w) r2r; split=> //.
  by rewrite /meaning /= !map_cat Eo Ec (named_map _ Nw w) o2' r2c.
rewrite (@named_sum vs (rows_of j n) (os ++ rows ++ columns) _ _ r2 (fun zs => A us zs) (fun zs => matrix_of n zs us')) //; last first.
move=> ys w; have [Eo Er Ec] := kept _ _ ys r2 Nv; have rV' := named_valid Nv r2V w.
rewrite (matrix_value Fn In rV') Ec (named_map _ Nv w) r2c; split=> //.
by rewrite /meaning /= !map_cat Eo Er (named_map _ Nv w) o2' r2r.
Qed.
Lemma fixes_right k a os rows ws m i e : find T k = Some m -> exponent m = Some i ->
  instance (slots m) (rows ++ ws) (argument m) = Some e -> named_for rows (rows_of i m) os ->
  named_for ws (rows_of i m) (os ++ rows) -> true_eq (Sums ws (Mul e (Entry a (os ++ ws))), Int 0) ->
  true_eq (Sums ws (Mul (Entry k (rows ++ ws)) (Entry a (os ++ ws))), Entry a (os ++ rows)).
Proof.
move=> F X I Nr Nw E; apply: to_holds => r rV; pose v us := en a (map r os ++ us).
have sr : size rows = i by case/and3P: Nr => _ /eqP/sizes_size -> _; exact: rows_size.
have kept ys r' : map (assigned ws ys r') os = map r' os /\ map (assigned ws ys r') rows = map r' rows.
  by have /map_parts[-> ->] := named_apart ys r' Nw.
rewrite (@named_sum ws (rows_of i m) (os ++ rows) _ _ r
  (exponential_of (lens (rows_of i m)) (matrix_of m) (map r rows)) v) //; last first.
  move=> ys w; have [Eo Er] := kept ys r.
  rewrite (exponential_value _ _ F X sr) Er (named_map _ Nw w); split=> //.
  by rewrite /meaning /= !map_cat Eo (named_map _ Nw w).
have wr : within (lens (rows_of i m)) (map r rows) by rewrite -(named_lens Nr); exact: valid_within.
rewrite (exponential_fixes (matrix_bounded m) _ wr); first by rewrite /v -map_cat.
move=> us wu; pose r1 := assigned rows us r.
have r1V : ok r1 by exact: named_valid Nr rV wu.
have o1 : map r1 os = map r os by exact: named_apart Nr.
have r1r : map r1 rows = us by exact: named_map Nr wu.
have := of_holds E r1V; rewrite (@named_sum ws (rows_of i m) (os ++ rows) _ _ r1 (matrix_of m us) v) //; last first.
  move=> ys w; have [Eo Er] := kept ys r1; have rV' := named_valid Nw r1V w.
  rewrite (matrix_value F I rV') Er (named_map _ Nw w) r1r; split=> //.
  by rewrite /meaning /= !map_cat Eo (named_map _ Nw w) o1.
by move=> ->; rewrite /meaning /= rational0.
Qed.

Lemma argument_matrix k n i r : find T k = Some n -> exponent n = Some i -> ok r ->
  val r (argument n) = matrix_of n (map r (rows_of i n)) (map r (columns_of i n)).
Proof.
move=> F X rV; have [C _] := find_value size_of scalar (@exponentials R) input T_formed F.
by rewrite /matrix_of -map_cat cat_take_drop argument_in.
Qed.
(* the indices of rows and of columns have these values *)
Lemma placed k n i us vs : find T k = Some n -> exponent n = Some i -> within (lens (rows_of i n)) us ->
  within (lens (rows_of i n)) vs -> exists r, [/\ ok r, map r (rows_of i n) = us & map r (columns_of i n) = vs].
Proof.
move=> F X wu wv; have [/andP[_ un] _] := find_value size_of scalar (@exponentials R) input T_formed F.
have [_ _ sq] := exponentP X; have w : within (bounds n) (us ++ vs).
  by rewrite (bounds_split X) -(lengths_sizes size_of sq); exact: within_cat.
have M : map (assigned (slots n) (us ++ vs) nowhere) (slots n) = us ++ vs.
  by apply: assigned_map => //; rewrite (within_size w) size_lengths.
have su : size us = i by rewrite (within_size wu) size_lengths (rows_size X).
exists (assigned (slots n) (us ++ vs) nowhere); split; first by apply: assigned_valid => //; exact: nowhere_valid.
  by rewrite /rows_of map_take M take_size_cat.
by rewrite /columns_of map_drop M drop_size_cat.
Qed.

Lemma opposite_right k l ws m n i : find T k = Some m -> find T l = Some n -> exponent m = Some i ->
  function n = function m -> slots n = slots m -> named_for ws (rows_of i m) (slots m) ->
  true_eq (Add (argument m) (argument n), Int 0) ->
  true_eq (Sums ws (Mul (Entry k (rows_of i m ++ ws)) (Entry l (ws ++ columns_of i m))),
           deltas_between (rows_of i m) (columns_of i m)).
Proof.
move=> Fm Fn Xm S V Nw E; have Xn : exponent n = Some i by rewrite /exponent S /square V.
have Rn : rows_of i n = rows_of i m by rewrite /rows_of V.
have Cn : columns_of i n = columns_of i m by rewrite /columns_of V.
have [_ sz sq] := exponentP Xm; apply: to_holds => r rV.
rewrite deltas_value; last exact: sizes_size.
have sw : size ws = i by case/and3P: Nw => _ /eqP/sizes_size -> _; exact: rows_size.
have kept ys : map (assigned ws ys r) (rows_of i m) = map r (rows_of i m) /\ map (assigned ws ys r) (columns_of i m) = map r (columns_of i m).
  by apply: map_parts; rewrite cat_take_drop; exact: named_apart Nw.
rewrite (@named_sum ws (rows_of i m) (slots m) _ _ r (exponential_of (lens (rows_of i m)) (matrix_of m) (map r (rows_of i m)))
  (fun zs => exponential_of (lens (rows_of i m)) (matrix_of n) zs (map r (columns_of i m)))) //; last first.
  move=> ys w; have [Er Ec] := kept ys.
  by rewrite (exponential_value _ _ Fm Xm (rows_size Xm)) (exponential_value _ _ Fn Xn sw) Er Ec Rn (named_map _ Nw w).
apply: (exponential_opposite (matrix_bounded m)) => [us vs wu wv| |]; first last.
- by rewrite (lengths_sizes size_of sq); exact: valid_within.
- exact: valid_within.
have [r' [r'V ru rv]] := placed Fm Xm wu wv.
have := of_holds E r'V; rewrite -[val r' (Add _ _)]/(val r' (argument m) + val r' (argument n)).
rewrite (argument_matrix Fm Xm r'V) (argument_matrix Fn Xn r'V) Rn Cn ru rv => A.
by apply/eqP; rewrite -addr_eq0 addrC A /meaning /= rational0.
Qed.

Lemma transposed_right k l m n i e : find T k = Some m -> find T l = Some n -> exponent m = Some i ->
  function n = function m -> slots n = slots m ->
  instance (slots m) (columns_of i m ++ rows_of i m) (argument m) = Some e -> true_eq (argument n, e) ->
  true_eq (this l n, Entry k (columns_of i m ++ rows_of i m)).
Proof.
move=> Fm Fn Xm S V I E; have Xn : exponent n = Some i by rewrite /exponent S /square V.
have Rn : rows_of i n = rows_of i m by rewrite /rows_of V.
have Cn : columns_of i n = columns_of i m by rewrite /columns_of V.
have [_ sz sq] := exponentP Xm; apply: to_holds => r rV.
have sc : size (columns_of i m) = i by rewrite -(sizes_size sq); exact: rows_size.
have -> : this l n = Entry l (rows_of i m ++ columns_of i m) by rewrite cat_take_drop /this V.
rewrite (exponential_value _ _ Fm Xm sc) (exponential_value _ _ Fn Xn (rows_size Xm)) Rn.
apply: exponential_transposed => [us vs wu wv| |]; first last.
- by rewrite (lengths_sizes size_of sq); exact: valid_within.
- exact: valid_within.
have [r' [r'V ru rv]] := placed Fm Xm wu wv.
by have := of_holds E r'V; rewrite (argument_matrix Fn Xn r'V) (matrix_value Fm I r'V) Rn Cn ru rv.
Qed.

Lemma derive_link_correct known l h : (forall h, List.In h known -> true_eq h) ->
  derive_link T given known l = Some h -> true_eq h.
Proof.
move=> H; have by_proof a b p : shown known (a, b) p -> true_eq (a, b) by exact: shown_holds.
case: l => /=.
- by move=> s; exact: derive_correct.
- move=> k l a os rows columns ws vs p; case Fm: (find T k) => [m|] //; case Fn: (find T l) => [n|] //.
  case Xm: (exponent m) => [i|] //; case Xn: (exponent n) => [j|] //.
  case Im: (instance _ _ _) => [e|] //; case In: (instance _ _ _) => [g|] //.
  case: ifP => // /and5P[N1 N2 N3 N4 /by_proof A] [<-].
  exact: intertwined_right Fm Fn Xm Xn Im In N1 N2 N3 N4 A.
- move=> k a os rows ws p; case F: (find T k) => [m|] //; case X: (exponent m) => [i|] //.
  case I: (instance _ _ _) => [e|] //; case: ifP => // /and3P[N1 N2 /by_proof A] [<-].
  exact: fixes_right F X I N1 N2 A.
- move=> k l ws p; case Fm: (find T k) => [m|] //; case Fn: (find T l) => [n|] //; case X: (exponent m) => [i|] //.
  case: ifP => // /and4P[/head_eqP S /eqP V N /by_proof A] [<-].
  exact: opposite_right Fm Fn X S V N A.
move=> k l p; case Fm: (find T k) => [m|] //; case Fn: (find T l) => [n|] //; case X: (exponent m) => [i|] //.
case I: (instance _ _ _) => [e|] //; case: ifP => // /and3P[/head_eqP S /eqP V /by_proof A] [<-].
exact: transposed_right Fm Fn X S V I A.
Qed.
Lemma proves_by_links_correct known ls h p : proves_by_links T given known ls h p ->
  (forall h, List.In h known -> true_eq h) -> true_eq h.
Proof.
rewrite /proves_by_links; elim: ls known => [|l ls IH] known /=; first by move=> A H; exact: shown_holds A.
case D: (derive_link _ _ _ _) => [g|] // A H; apply: (IH (rcons known g)) => // g' I.
have : List.In g' known \/ g = g'.
  by elim: known I {A H D} => [|x known IHk] /= [->|]; auto; case/IHk; auto.
by case=> [/H //|<-]; exact: derive_link_correct D.
Qed.
End Real.

(* an equation that holds where the functions of which nothing else is known are exponentials of matrices *)
Definition always_of_exponentials (T : table) (given : seq condition) (hypotheses : seq equation) (h : formula * formula) : Prop :=
  forall R : realType, says (@exponentials R) T given hypotheses h.
Definition accepts_by_links (T : table) given hypotheses links (h : formula * formula) p : bool :=
  [&& well_formed T, proper T given [::] h.1, proper T given [::] h.2
    & proves_by_links T given hypotheses links (lower T h.1, lower T h.2) p].
Theorem accepts_by_links_correct T given hypotheses links h p : accepts_by_links T given hypotheses links h p ->
  always_of_exponentials T given hypotheses h.
Proof.
case/and4P => wf Pl Pr A R size_of scalar input S0 P0 G H.
exact: (lowered_comes_true S0 P0 wf Pl Pr G (proves_by_links_correct S0 P0 wf G A H)).
Qed.
